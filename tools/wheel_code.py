"""Reads the device code of wheels on a package index.

`observe` reads one wheel: targets with their entries, targets compressed by zstd, the compilers of the PTX, and the
CUDA libraries that it loads, brings or requires. A framework's own libraries count, as in an image
(`conclusions.FOLDERS`); those of NVIDIA's packages do not.
"""

from __future__ import annotations

import re
import zipfile
from dataclasses import dataclass, field
from email.parser import BytesParser
from pathlib import PurePosixPath
from typing import IO, Final

from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from compat.evidence.names.distributions import framework_of
from imaging.inspection.conclusions import FOLDERS
from imaging.inspection.fatbin import Scanner
from imaging.inspection.faults import InspectError
from imaging.inspection.index import File, Index
from imaging.inspection.loaded_libraries import LoadedLibraries, surroundings

_LIBRARY: Final = re.compile(r"\.so(?:\.\d+)*$")
_PIECE: Final = 1 << 20
_LONGEST_WORDS: Final = 80  # bytes kept between two pieces
# The end of "Cuda compilation tools, release 11.8, V11.8.89", which heads PTX: its beginning is often compressed.
_BEFORE_RELEASE: Final = re.compile(rb" tools, release ")
_COMPILER: Final = re.compile(rb"ation tools, release (\d+\.\d+)")
_BROUGHT: Final = re.compile(r"(?:^|/)lib(cudart|cublas|cudnn|nvrtc|nvinfer)(?:-[0-9a-f]{8})?\.so\.(\d+(?:\.\d+)*)$")


@dataclass(frozen=True, slots=True)
class Library:
    """Device code of one shared library: targets with their number of entries; `compressed`: those of zstd."""

    path: str
    cubins: dict[str, int]
    ptx: dict[str, int]
    compressed: frozenset[str]
    isas: frozenset[str] = frozenset()
    """Versions of the PTX language: 8.5."""
    compilers: frozenset[str] = frozenset()
    """CUDA releases whose compiler made the PTX: 12.5; none if zstd compresses it, or there is none."""


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel with its libraries that have device code."""

    filename: str
    sha256: str
    libraries: tuple[Library, ...]
    loads: frozenset[str] = frozenset()
    """CUDA libraries that its libraries load: `cudart 12`, `cudnn 9`."""
    brings: frozenset[str] = frozenset()
    """Those inside it: `cudart 12.4.127`."""
    requires: tuple[str, ...] = field(default=())
    """Its listed requirements: `torch==2.6.0`."""

    @property
    def compressed(self) -> str:
        """Targets of code compressed by zstd: `sm_80;compute_90`, or `none`."""
        found = {target for each in self.libraries for target in each.compressed}
        return ";".join(sorted(found, key=_order)) or "none"


def find_wheel(index: Index, name: str, version: str) -> File:
    """The smallest wheel for the newest Linux on x86_64: wheels of all Pythons have the same device code, and wheels
    for an older Linux may lack it (xgboost 2.1 and later). Raises InspectError.
    """
    wheels = [each for each in index.files(name) if _fits(each.filename, Version(version))]
    if not wheels:
        raise InspectError(f"{name}=={version}", "the index has no wheel for Linux on x86_64", "ask another index")
    return min(wheels, key=lambda each: (-_c_library(each.filename), each.size or 0, each.filename))


def observe(file: IO[bytes], source: File, *, name: str) -> Wheel:
    """Read all device code of a wheel of the package `name`."""
    folders = FOLDERS.get(framework_of(name), ())
    found, loads, brings = [], set[str](), set[str]()
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            path = member.filename
            if not _LIBRARY.search(path) or PurePosixPath(path).parts[0] == "nvidia":
                continue
            if brought := _BROUGHT.search(path):
                brings.add(f"{brought[1]} {brought[2]}")
                continue
            if folders and not path.startswith(folders):
                continue
            library, named = _read(archive, member)
            loads |= named
            if library.cubins or library.ptx:
                found.append(library)
        requires = _requires(archive)
    return Wheel(source.filename, source.sha256, tuple(found), frozenset(loads), frozenset(brings), requires)


def requirements(file: IO[bytes]) -> tuple[str, ...]:
    """Only the requirements of a wheel."""
    with zipfile.ZipFile(file) as archive:
        return _requires(archive)


def _read(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> tuple[Library, set[str]]:
    """The device code of one library, and the CUDA libraries that it loads."""
    scanner, loads = Scanner(), LoadedLibraries()
    before, compilers = b"", set[str]()
    with archive.open(member) as content:
        while piece := content.read(_PIECE):
            scanner.feed(piece)
            loads.feed(piece)
            for around in surroundings(before + piece, _BEFORE_RELEASE, _LONGEST_WORDS):
                compilers |= {found.decode() for found in _COMPILER.findall(around)}
            before = piece[-_LONGEST_WORDS:]
    loaded = scanner.loaded()
    library = Library(
        member.filename,
        {str(target): count for target, count in loaded.items() if target.kind == "cubin"},
        {str(target): count for target, count in loaded.items() if target.kind == "ptx"},
        frozenset(map(str, scanner.compressed())),
        scanner.isas(),
        frozenset(compilers),
    )
    return library, loads.found


def _requires(archive: zipfile.ZipFile) -> tuple[str, ...]:
    metadata = next((each for each in archive.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", each)), None)
    if metadata is None:
        return ()
    return tuple(map(str, BytesParser().parsebytes(archive.read(metadata)).get_all("Requires-Dist", [])))


def _order(target: str) -> tuple[bool, int, str]:
    match = re.search(r"(\d+)([a-z]?)$", target)
    return target.startswith("compute"), int(match[1]) if match else 0, match[2] if match else ""


def _c_library(filename: str) -> int:
    """The newest glibc minor of a wheel: 28 in manylinux_2_28; at most 17 for older kinds of names."""
    return max(map(int, re.findall(r"manylinux_2_(\d+)", filename)), default=17)


def _fits(filename: str, version: Version) -> bool:
    try:
        _, found, _, tags = parse_wheel_filename(filename)
    except InvalidWheelFilename:
        return False
    platforms = {tag.platform for tag in tags}
    return found == version and any(
        each == "any" or ("linux" in each and each.endswith("x86_64")) for each in platforms
    )
