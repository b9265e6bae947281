"""The programs of the lab: on PATH at the pinned version, else an official download, else built from Go modules.

Pins are data (`lab/tools/pins.toml`, one go.mod and go.sum per tool). Results are in the cache, in a folder whose name
holds a digest of the pins, the build code and Go: a second run does nothing, and a change never meets an old program.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil

from lab import go_builds, module_builds, processes
from lab.downloads import UnreachableError, fetch
from lab.instance import LabError, cache_home
from lab.pins import Pin, load_pins

BUILDS_AT_ONCE = 2  # each link takes 1-2 GB

Report = Callable[[str], None]


class Toolchain:
    """The path of each program. `ensure` installs missing ones; `path` never does."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or cache_home() / "tools"
        pins = load_pins()
        self.pins, self.debian_tests = pins.tools, pins.debian_tests
        self.debian, self.debian_clusters, self.debian_docker = pins.debian, pins.debian_clusters, pins.debian_docker
        self.debian_slurm = pins.debian_slurm
        self._go_lock = threading.Lock()

    def path(self, name: str) -> Path:
        """The program's path. Raises LabError if it is not installed."""
        for pin in self.pins.values():
            if name in pin.programs or name in pin.module_files:
                installed = self.root / pin.key / "bin" / name
                if installed.exists():
                    return installed
        tables = (self.debian, self.debian_clusters, self.debian_docker, self.debian_slurm)
        if any(name in table for table in tables) and (found := _which(name)):
            return found
        raise LabError(f"{name} is not installed; run: make tools")

    def origin(self, tool: str) -> str:
        """The origin of the tool: one of ORIGINS."""
        return (self.root / self.pins[tool].key / "origin").read_text().strip()

    def is_official(self, tool: str) -> bool:
        """Whether it is the publisher's own build (from PATH or a download), not built here."""
        return self.origin(tool) != "module"

    def bin_folders(self) -> list[Path]:
        """Folders for PATH. Not plugins: the engine has them in its own cache, and warns of each on PATH."""
        return [self.root / pin.key / "bin" for pin in self.pins.values() if not pin.is_plugin and not pin.for_tests]

    def missing(self) -> list[Pin]:
        return [pin for pin in self.pins.values() if not (self.root / pin.key / "origin").exists()]

    def ensure(  # noqa: PLR0913 - what kind of lab it is for
        self,
        report: Report,
        *,
        for_clusters: bool = True,
        for_docker: bool = False,
        for_slurm: bool = False,
        for_tests: bool = False,
        also: Collection[str] = (),
    ) -> None:
        """Install every tool, two at a time, and report how long each took. A lab for images needs fewer, tests all.

        `also`: tools that are otherwise installed on demand.

        Raises LabError for the first tool that could not be installed, with the end of its build log.
        """
        packages = [self.debian]
        packages += [self.debian_clusters] if for_clusters else []
        packages += [self.debian_docker] if for_docker or for_tests else []
        packages += [self.debian_slurm] if for_slurm or for_tests else []
        self.ensure_packages(report, {name: package for table in packages for name, package in table.items()})
        self._install_all(
            [
                pin
                for pin in self.missing()
                if (for_clusters or not pin.for_clusters or (for_docker and pin.for_docker))
                and (for_tests or pin.name in also or not (pin.for_tests or pin.on_demand))
            ],
            report,
        )

    def ensure_one(self, name: str, report: Report) -> None:
        """Install one tool, such as a plugin that the engine cannot download. Raises LabError like `ensure`."""
        self._install_all([pin for pin in self.missing() if pin.name == name], report)

    def _install_all(self, missing: Sequence[Pin], report: Report) -> None:
        if not missing:
            return
        count = f"{len(missing)} {'tool' if len(missing) == 1 else 'tools'}"
        report(f"{count} to install: {', '.join(pin.name for pin in missing)}")
        with _memory_for_go(), ThreadPoolExecutor(BUILDS_AT_ONCE) as pool:
            for future in [pool.submit(self._install, pin, report) for pin in missing]:
                future.result()

    def ensure_test_packages(self, report: Report) -> None:
        """Install what only the tests need, such as a browser. Raises LabError like `ensure`."""
        self.ensure_packages(report, self.debian_tests)

    def ensure_packages(self, report: Report, programs: Mapping[str, str]) -> None:
        packages = sorted({package for program, package in programs.items() if _which(program) is None})
        if not packages:
            return
        command = f"apt-get install -y --no-install-recommends {' '.join(packages)}"
        if os.geteuid() != 0 or shutil.which("apt-get") is None:
            raise LabError(f"these Debian packages are needed; as root: {command}")
        started = time.monotonic()
        report(f"apt-get install {' '.join(packages)} …")
        log = self.root / "logs" / "apt.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with (self.root / "apt.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a test run and the tools that it builds meanwhile both install
            with _no_service_starts():
                quiet = {"DEBIAN_FRONTEND": "noninteractive"}
                processes.run(["apt-get", "update", "-q"], env=quiet, log=log)
                processes.run(command.split(), env=quiet, log=log, timeout_s=1200)
        report(f"apt-get install done in {time.monotonic() - started:.0f} s")

    def _install(self, pin: Pin, report: Report) -> None:
        target = self.root / pin.key
        target.parent.mkdir(parents=True, exist_ok=True)
        with (self.root / f"{pin.name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a second `make up` waits for the first one's build
            if (target / "origin").exists():
                return
            started = time.monotonic()
            shutil.rmtree(target, ignore_errors=True)
            draft = target.with_name(target.name + ".draft")
            shutil.rmtree(draft, ignore_errors=True)
            (draft / "bin").mkdir(parents=True)
            origin = self._bring(pin, draft / "bin", report)
            (draft / "origin").write_text(origin + "\n")
            draft.rename(target)
            report(f"{pin.name} {pin.version}: {ORIGINS[origin]} in {time.monotonic() - started:.0f} s")

    def _bring(self, pin: Pin, bin_folder: Path, report: Report) -> str:
        if _link_from_path(pin, bin_folder):
            return "path"
        if pin.download is not None:
            try:
                fetch(pin.download, pin.programs, bin_folder)
            except UnreachableError as reason:
                report(f"{pin.name}: no download ({reason}); building it from Go modules …")
            else:
                return "download"
        self._build(pin, bin_folder, report)
        return "module"

    def _build(self, pin: Pin, bin_folder: Path, report: Report) -> None:
        with self._go_lock:
            go = go_builds.bring_go(pin.go, self.root, report)
        report(f"{pin.name} {pin.version}: building …")
        log = self.root / "logs" / f"{pin.name}.log"
        log.parent.mkdir(exist_ok=True)
        log.write_text("")
        if module_builds.has_script(pin):
            module_builds.build(go, pin, bin_folder.parent, log)
            return
        source = go_builds.Source(pin.source, pin.packages, pin.ldflags, pin.module_files)
        go_builds.build(go, source, bin_folder, log)
        for folder, packages in pin.beside.items():
            go_builds.build(go, go_builds.Source(pin.source / folder, packages, (), {}), bin_folder, log)


ORIGINS = {"path": "found on PATH", "download": "official download", "module": "built from Go modules"}


def _link_from_path(pin: Pin, bin_folder: Path) -> bool:
    """Link the programs on PATH if all exist and report the pinned version."""
    if not pin.version_args:
        return False
    found = {program: shutil.which(program) for program in pin.programs}
    for program, place in found.items():
        args = ("version", "--client") if program == "kubectl" else pin.version_args
        if place is None or not _reports(place, args, pin.version):
            return False
    for program, place in found.items():
        (bin_folder / program).symlink_to(Path(str(place)).resolve())
    # The language host and the exec script belong to the release that contains them.
    for beside in Path(str(found[pin.programs[0]])).resolve().parent.glob(f"{pin.programs[0]}-*"):
        (bin_folder / beside.name).symlink_to(beside)
    return all((bin_folder / name).exists() for name in pin.module_files)


def _reports(program: str, args: tuple[str, ...], version: str) -> bool:
    try:
        return re.search(rf"\bv?{re.escape(version)}\b", processes.run([program, *args], timeout_s=20)) is not None
    except LabError:
        return False


def _which(program: str) -> Path | None:
    if program.startswith("/"):
        return Path(program) if Path(program).exists() else None
    # /usr/sbin is not on every user's PATH.
    found = shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin:/usr/bin:/bin")
    return Path(found) if found else None


@contextlib.contextmanager
def _memory_for_go() -> Iterator[None]:
    """Go's compilers collect garbage only near a share of the machine's memory, which saves a fifth of a build.

    Two builds of two compilers each share half of it. What they write is the same.
    """
    before = {name: os.environ.get(name) for name in ("GOGC", "GOMEMLIMIT")}
    share = psutil.virtual_memory().total // (2 * 2 * BUILDS_AT_ONCE)
    os.environ.update({"GOGC": "off", "GOMEMLIMIT": str(share)} | {k: v for k, v in before.items() if v is not None})
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)


@contextlib.contextmanager
def _no_service_starts() -> Iterator[None]:
    """Debian starts services at installation; the lab runs its own. policy-rc.d is Debian's switch for that."""
    switch = Path("/usr/sbin/policy-rc.d")
    if switch.exists():
        yield
        return
    switch.write_text("#!/bin/sh\nexit 101\n")
    switch.chmod(0o755)
    try:
        yield
    finally:
        switch.unlink(missing_ok=True)
