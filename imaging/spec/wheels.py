"""Wheels of an image, from its lock and pins, and the sizes of their files. Pure.

A file `requirements.sizes.csv` beside a lock keeps the sizes, because an index needs a network. It applies to Linux
on x86_64 and the Python of Debian 12, the image's own wherever wheels are installed from the lock.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, fields
from functools import cache
from typing import Final

from packaging.tags import Tag, compatible_tags, cpython_tags
from packaging.utils import BuildTag, InvalidWheelFilename, NormalizedName, parse_wheel_filename
from packaging.version import Version

from imaging.spec.lock import read_lock
from imaging.spec.model import ImageSpec
from imaging.spec.parts import Kernel
from imaging.spec.pins import wheel_pin

SIZES_FILE: Final = "requirements.sizes.csv"
SERVER: Final = ""  # the environment of the image's own server; all others are kernels', by name
PYTHON: Final = "3.11.2"  # of Debian 12, which never changes it
_GLIBC: Final = 36  # Debian 12 has glibc 2.36; a Jupyter base has a later one
_ENVIRONMENT: Final[Mapping[str, str]] = {
    "implementation_name": "cpython",
    "implementation_version": PYTHON,
    "os_name": "posix",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_release": "",
    "platform_system": "Linux",
    "platform_version": "",
    "python_full_version": PYTHON,
    "python_version": "3.11",
    "sys_platform": "linux",
}


@dataclass(frozen=True, slots=True)
class WantedWheel:
    """One distribution in one environment. Only the server's are locked: others may have any hash."""

    environment: str
    name: NormalizedName
    version: str
    python: str
    hashes: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class WheelSize:
    """One file of an index, with its size. The columns of a size file."""

    environment: str
    name: str
    version: str
    wheel: str
    sha256: str
    bytes: int


COLUMNS: Final = tuple(field.name for field in fields(WheelSize))


def wanted_wheels(spec: ImageSpec, lock: str) -> tuple[WantedWheel, ...]:
    """What an image takes from the index: all of its lock, and its kernels' own pins.

    A kernel's build with a local version (1.7.1+cu101) is on its own page: `other_pins` has it.
    """
    kernels = [
        WantedWheel(kernel.name, pin.name, pin.version, kernel.python)
        for kernel in spec.kernels
        for pin in map(wheel_pin, kernel.pypi)
        if "+" not in pin.version
    ]
    return (*(_locked(lock) if spec.python else ()), *kernels)


def other_pins(kernels: Iterable[Kernel]) -> tuple[str, ...]:
    """Pins of kernels that the index lacks."""
    return tuple(pin for kernel in kernels for pin in kernel.pypi if "+" in pin)


def best_wheel(wanted: WantedWheel, files: Mapping[str, str]) -> str:
    """The file that an installer picks from file names with their SHA-256. Raises LookupError with a reason."""
    of_version = {name: parsed for name in files if (parsed := _parsed(name)) and parsed.is_of(wanted)}
    ranked = [
        (rank, [-number for number in parsed.build[:1] if isinstance(number, int)], name)
        for name, parsed in of_version.items()
        if (rank := min((_ranks(wanted.python).get(tag, _NO_RANK) for tag in parsed.tags), default=_NO_RANK)) < _NO_RANK
    ]
    if not ranked:
        raise LookupError(f"the index has no wheel of {wanted.version} for Python {wanted.python} on Linux x86_64")
    known = [each for each in ranked if not wanted.hashes or files[each[-1]] in wanted.hashes]
    if not known:
        raise LookupError(f"no wheel of {wanted.version} for this platform has a hash of the lock")
    return min(known)[-1]


def read_sizes(text: str) -> tuple[WheelSize, ...]:
    """The rows of a size file. Raises ValueError for anything else."""
    reader = csv.reader(io.StringIO(text))
    if tuple(next(reader, ())) != COLUMNS:
        raise ValueError(f"has not the columns {', '.join(COLUMNS)}")
    return tuple(
        WheelSize(environment, name, version, wheel, sha256, int(number))
        for environment, name, version, wheel, sha256, number in reader
    )


def sizes_text(sizes: Iterable[WheelSize]) -> str:
    """A size file, in the given order."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(map(astuple, sizes))
    return out.getvalue()


def is_current(sizes: Sequence[WheelSize], wanted: Sequence[WantedWheel]) -> bool:
    """Does each wanted wheel have a row, with a hash of the lock, and are there no others?"""
    by_key = {(size.environment, size.name, size.version): size for size in sizes}
    keys = {(each.environment, each.name, each.version) for each in wanted}
    return (
        len(by_key) == len(sizes)
        and set(by_key) == keys
        and all(not w.hashes or by_key[w.environment, w.name, w.version].sha256 in w.hashes for w in wanted)
    )


def _locked(lock: str) -> Iterator[WantedWheel]:
    for each in read_lock(lock):
        if each.marker is None or each.marker.evaluate(_ENVIRONMENT):
            yield WantedWheel(SERVER, each.name, each.version, PYTHON, each.hashes)


@dataclass(frozen=True, slots=True)
class _Parsed:
    name: NormalizedName
    version: Version
    build: BuildTag
    tags: frozenset[Tag]

    def is_of(self, wanted: WantedWheel) -> bool:
        return self.name == wanted.name and self.version == Version(wanted.version)


_NO_RANK: Final = 1 << 30


@cache
def _parsed(filename: str) -> _Parsed | None:
    try:
        return _Parsed(*parse_wheel_filename(filename))
    except InvalidWheelFilename:
        return None


@cache
def _ranks(python: str) -> dict[Tag, int]:
    """Tags that this Python accepts here, best first."""
    version = tuple(int(part) for part in python.split(".")[:2])
    legacy = {17: "manylinux2014", 12: "manylinux2010", 5: "manylinux1"}
    platforms = [
        f"{family}_x86_64"
        for minor in range(_GLIBC, 4, -1)
        for family in (f"manylinux_2_{minor}", legacy.get(minor))
        if family
    ]
    platforms.append("linux_x86_64")
    digits = f"cp{version[0]}{version[1]}"
    tags = [*cpython_tags(version, platforms=platforms, abis=[digits]), *compatible_tags(version, digits, platforms)]
    return {tag: rank for rank, tag in reversed(list(enumerate(tags)))}
