"""Device code of wheels, read from the files that a package index serves.

`observe` reads one wheel: targets with their entries, and which of them zstd compresses. A framework's own libraries
count, as in an image (`judge.FOLDERS`); those of NVIDIA's packages beside it do not.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import IO, Final

import httpx
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from compat.distributions import framework_of
from images.inspection.fatbin import Scanner
from images.inspection.faults import InspectError
from images.inspection.index import File, Index
from images.inspection.judge import FOLDERS

_LIBRARY: Final = re.compile(r"\.so(?:\.\d+)*$")
_PIECE: Final = 1 << 20


@dataclass(frozen=True, slots=True)
class Library:
    """Device code of one shared library: targets with the number of entries; `compressed` are those of zstd."""

    path: str
    cubins: dict[str, int]
    ptx: dict[str, int]
    compressed: frozenset[str]


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel with the libraries that have device code."""

    filename: str
    sha256: str
    libraries: tuple[Library, ...]

    @property
    def compressed(self) -> str:
        """Targets of code that zstd compresses: `sm_80;compute_90`, or `none`."""
        found = {target for each in self.libraries for target in each.compressed}
        return ";".join(sorted(found, key=_order)) or "none"


def find_wheel(index: Index, name: str, version: str) -> File:
    """The smallest wheel for Linux on x86_64: device code is alike in those of all Pythons. Raises InspectError."""
    wheels = [each for each in index.files(name) if _fits(each.filename, Version(version))]
    if not wheels:
        raise InspectError(f"{name}=={version}", "the index has no wheel for Linux on x86_64", "ask another index")
    return min(wheels, key=lambda each: (each.size or 0, each.filename))


@contextmanager
def downloaded(file: File) -> Iterator[IO[bytes]]:
    """The wheel as a file that is gone afterwards. Raises InspectError, and httpx.HTTPError where nobody answers."""
    with tempfile.TemporaryFile() as target:
        with httpx.stream("GET", file.url, timeout=60, follow_redirects=True) as answer:
            if answer.status_code != httpx.codes.OK:
                raise InspectError(file.filename, f"the index answers {answer.status_code}", "try again later")
            for piece in answer.iter_bytes(_PIECE):
                target.write(piece)
        target.seek(0)
        yield target


def observe(file: IO[bytes], source: File, *, name: str) -> Wheel:
    """Read the device code of a wheel of the package `name` to its end."""
    folders = FOLDERS.get(framework_of(name), ())
    found = []
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            path = member.filename
            if not _LIBRARY.search(path) or PurePosixPath(path).parts[0] == "nvidia":
                continue
            if folders and not path.startswith(folders):
                continue
            scanner = Scanner()
            with archive.open(member) as content:
                while piece := content.read(_PIECE):
                    scanner.feed(piece)
            loaded = scanner.loaded()
            cubins = {str(target): count for target, count in loaded.items() if target.kind == "cubin"}
            ptx = {str(target): count for target, count in loaded.items() if target.kind == "ptx"}
            if cubins or ptx:
                found.append(Library(path, cubins, ptx, frozenset(map(str, scanner.compressed()))))
    return Wheel(source.filename, source.sha256, tuple(found))


def _order(target: str) -> tuple[bool, int, str]:
    match = re.search(r"(\d+)([a-z]?)$", target)
    return target.startswith("compute"), int(match[1]) if match else 0, match[2] if match else ""


def _fits(filename: str, version: Version) -> bool:
    try:
        _, found, _, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    return found == version and any("linux" in tag.platform and tag.platform.endswith("x86_64") for tag in tags)
