"""The programs of the lab: on PATH at the pinned version, else an official download, else built from Go modules.

Pins are data (`lab/tools/pins.toml`, one go.mod and go.sum per tool). Results lie in the cache, in a folder whose
name holds a digest of the pins, of the code that builds and of the Go that builds: a second run does nothing, and a
change never meets an old program.
No checksum or signature check is ever switched off: a download without a known sum is not tried.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import io
import os
import re
import shutil
import tarfile
import threading
import time
import tomllib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from images.inspection.faults import InspectError
from images.inspection.surroundings import check_network
from lab import go_builds, processes
from lab.instance import LabError, cache_home

TOOLS_FOLDER = Path(__file__).parent / "tools"
BUILDS_AT_ONCE = 2  # each link takes 1-2 GB
CONNECT_WITHIN_S = 5  # a machine without internet must notice soon

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Download:
    """One official archive or program. `{program}` in a URL stands for each program of the tool."""

    url: str
    sha256: str | None = None
    checksums: str | None = None


@dataclass(frozen=True, slots=True)
class Pin:
    """One tool: its version, its programs, and the ways to get them."""

    name: str
    version: str
    programs: tuple[str, ...]
    packages: tuple[str, ...]
    go: str
    ldflags: tuple[str, ...] = ()
    version_args: tuple[str, ...] = ()
    module_files: Mapping[str, str] = field(default_factory=dict)
    download: Download | None = None
    for_clusters: bool = field(default=False, repr=False)  # it does not decide what the program is

    @property
    def source(self) -> Path:
        return TOOLS_FOLDER / self.name

    @property
    def is_plugin(self) -> bool:
        """Whether it is a plugin of the engine, not a command."""
        return self.programs[0].startswith("pulumi-resource-")

    @property
    def key(self) -> str:
        """The name of its folder: another one as soon as anything changed that decides what the program is."""
        digest = hashlib.sha256(repr(self).encode() + go_builds.fingerprint(self.go))
        for path in sorted(path for path in self.source.rglob("*") if path.is_file()):
            digest.update(path.read_bytes())
        return f"{self.name}-{self.version}-{digest.hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class Pins:
    """What `pins.toml` says. Debian packages are by program (on PATH, or the path of any file)."""

    tools: dict[str, Pin]
    debian: dict[str, str]
    debian_clusters: dict[str, str]
    debian_tests: dict[str, str]  # only the tests need them


def load_pins(path: Path = TOOLS_FOLDER / "pins.toml") -> Pins:
    data = tomllib.loads(path.read_text())
    go = data.pop("go")
    debian = [data.pop(table) for table in ("debian", "debian-clusters", "debian-tests")]
    return Pins({name: _pin(name, row, go) for name, row in data.items()}, *debian)


def _pin(name: str, row: Mapping[str, Any], go: str) -> Pin:
    return Pin(
        name=name,
        go=go,
        version=row["version"],
        programs=tuple(row["programs"]),
        packages=tuple(row["packages"]),
        ldflags=tuple(row.get("ldflags", ())),
        version_args=tuple(row.get("version_args", ())),
        module_files=row.get("module_files", {}),
        download=Download(**row["download"]) if "download" in row else None,
        for_clusters=row.get("for_clusters", False),
    )


class Toolchain:
    """Where each program lies. `ensure` installs what is missing; `path` never does."""

    def __init__(self, root: Path | None = None) -> None:
        self.root = root or cache_home() / "tools"
        pins = load_pins()
        self.pins, self.debian_tests = pins.tools, pins.debian_tests
        self.debian, self.debian_clusters = pins.debian, pins.debian_clusters
        self._go_lock = threading.Lock()

    def path(self, name: str) -> Path:
        """The program's path. Raises LabError when it is not installed."""
        for pin in self.pins.values():
            if name in pin.programs or name in pin.module_files:
                installed = self.root / pin.key / "bin" / name
                if installed.exists():
                    return installed
        if name in {**self.debian, **self.debian_clusters} and (found := _which(name)):
            return found
        raise LabError(f"{name} is not installed; run: make tools")

    def origin(self, tool: str) -> str:
        """Where the tool came from: one of ORIGINS."""
        return (self.root / self.pins[tool].key / "origin").read_text().strip()

    def is_official(self, tool: str) -> bool:
        """True when the tool is its publisher's own build (from PATH or a download), not built here."""
        return self.origin(tool) != "module"

    def bin_folders(self) -> list[Path]:
        """What belongs on PATH. Plugins do not: the engine has them in its own cache, and warns of each on PATH."""
        return [self.root / pin.key / "bin" for pin in self.pins.values() if not pin.is_plugin]

    def missing(self) -> list[Pin]:
        return [pin for pin in self.pins.values() if not (self.root / pin.key / "origin").exists()]

    def ensure(self, report: Report, *, for_clusters: bool = True) -> None:
        """Install every tool, two at a time, and report how long each took. A lab for images needs fewer.

        Raises LabError that names the first tool that could not be installed, with the end of its build log.
        """
        self.ensure_packages(report, {**self.debian, **(self.debian_clusters if for_clusters else {})})
        missing = [pin for pin in self.missing() if for_clusters or not pin.for_clusters]
        if not missing:
            return
        count = f"{len(missing)} {'tool' if len(missing) == 1 else 'tools'}"
        report(f"{count} to install: {', '.join(pin.name for pin in missing)}")
        with ThreadPoolExecutor(BUILDS_AT_ONCE) as pool:
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
        source = go_builds.Source(pin.source, pin.packages, pin.ldflags, pin.module_files)
        go_builds.build(go, source, bin_folder, log)


ORIGINS = {"path": "found on PATH", "download": "official download", "module": "built from Go modules"}


class UnreachableError(Exception):
    """The publisher's server did not answer, or does not have it: the next way is tried. A wrong sum is an error."""


def fetch(download: Download, programs: tuple[str, ...], bin_folder: Path) -> None:
    """Download, check and unpack into `bin_folder`.

    Raises UnreachableError when a server cannot be asked, LabError when a sum is wrong: that is never overlooked.
    """
    try:
        check_network(os.environ)
    except InspectError as fault:
        raise LabError(str(fault)) from None
    with httpx.Client(timeout=httpx.Timeout(300, connect=CONNECT_WITHIN_S), follow_redirects=True) as client:
        for program in programs if "{program}" in download.url else ("",):
            url = download.url.format(program=program)
            expected = download.sha256 or _published_sum(client, download, program, url)
            content = _get(client, url).content
            actual = hashlib.sha256(content).hexdigest()
            if actual != expected:
                raise LabError(f"{url}: SHA-256 is {actual}, expected {expected}; nothing was installed")
            _unpack(content, url, program, bin_folder)


def _published_sum(client: httpx.Client, download: Download, program: str, url: str) -> str:
    if download.checksums is None:
        raise UnreachableError("no SHA-256 is known for it")
    text = _get(client, download.checksums.format(program=program)).text
    name = url.rsplit("/", 1)[-1]
    for line in text.splitlines():
        fields = line.split()
        if fields and re.fullmatch(r"[0-9a-f]{64}", fields[0]) and (len(fields) == 1 or fields[1].lstrip("*") == name):
            return fields[0]
    raise LabError(f"{download.checksums} has no SHA-256 of {name}; nothing was installed")


def _get(client: httpx.Client, url: str) -> httpx.Response:
    try:
        response = client.get(url)
        response.raise_for_status()
    except httpx.HTTPError as error:
        raise UnreachableError(f"{httpx.URL(url).host}: {type(error).__name__}") from error
    return response


def _unpack(content: bytes, url: str, program: str, bin_folder: Path) -> None:
    if program:
        target = bin_folder / program
        target.write_bytes(content)
        target.chmod(0o755)
        return
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        for member in archive.getmembers():
            if member.isfile() and (source := archive.extractfile(member)):
                target = bin_folder / Path(member.name).name
                target.write_bytes(source.read())
                target.chmod(0o755)
    if not any(bin_folder.iterdir()):
        raise LabError(f"{url}: the archive holds no program")


def _link_from_path(pin: Pin, bin_folder: Path) -> bool:
    """Link the programs on PATH when all are there and report the pinned version."""
    if not pin.version_args:
        return False
    found = {program: shutil.which(program) for program in pin.programs}
    for program, place in found.items():
        args = ("version", "--client") if program == "kubectl" else pin.version_args
        if place is None or not _reports(place, args, pin.version):
            return False
    for program, place in found.items():
        (bin_folder / program).symlink_to(Path(str(place)).resolve())
    # The language host and the exec script belong to the release they came with.
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
def _no_service_starts() -> Iterator[None]:
    """Debian starts services when it installs them; the lab runs its own. policy-rc.d is Debian's switch for that."""
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
