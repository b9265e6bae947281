"""Whether machine code runs on a GPU with a driver, by NVIDIA's rules and nothing else. Pure.

Written for wheel_answers.py, which compares `inspect` and `check` with it: it shares no code or table with them.
Sources: CUDA release notes, table of drivers; PTX ISA, release notes; CUDA compatibility guide; nvcc, fatbinaries.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from packaging.version import Version

from tools.cuobjdump import Dumped

# Model, compute capability, first driver: NVIDIA's release notes.
GPUS: Final = (
    ("Tesla M60", (5, 2), 0),
    ("Tesla P100", (6, 0), 0),
    ("GeForce GTX 1080 Ti", (6, 1), 0),
    ("Tesla V100", (7, 0), 0),
    ("Tesla T4", (7, 5), 0),
    ("A100", (8, 0), 450),
    ("A10", (8, 6), 460),
    ("L4", (8, 9), 525),
    ("H100", (9, 0), 525),
    ("B200", (10, 0), 570),
    ("B300", (10, 3), 580),
    ("GeForce RTX 5090", (12, 0), 570),
)
DRIVERS: Final = ("470.256.02", "525.147.05", "535.183.01", "550.127.05", "570.133.20", "580.95.05")
# First driver of each CUDA major (minor version compatibility), before 11 of each release: CUDA release notes, table 3.
FIRST_DRIVERS: Final = {
    "8.0": "375.26", "9.0": "384.81", "9.1": "390.46", "9.2": "396.26",
    "10.0": "410.48", "10.1": "418.39", "10.2": "440.33", "11": "450.80.02", "12": "525.60.13", "13": "580.65.06",
}  # fmt: skip
# First driver that assembles a version of the PTX language: PTX ISA, release notes, with those of CUDA.
PTX_DRIVERS: Final = {
    "5.0": "375.26", "6.0": "384.81", "6.1": "390.46", "6.2": "396.26", "6.3": "410.48", "6.4": "418.39",
    "6.5": "440.33", "7.0": "450.36.06", "7.1": "455.23", "7.2": "460.27.03", "7.3": "465.19.01",
    "7.4": "470.42.01", "7.5": "495.29.05", "7.6": "510.39.01", "7.7": "515.43.04", "7.8": "520.61.05",
    "8.0": "525.60.13", "8.1": "530.30.02", "8.2": "535.54.03", "8.3": "545.23.06", "8.4": "550.54.14",
    "8.5": "555.42.02", "8.6": "565.57.01", "8.7": "570.26", "8.8": "575.51.03", "9.0": "580.65.06",
    "9.1": "590.44.01", "9.2": "595.45.04",
}  # fmt: skip
UNPACKS_ZSTD: Final = "550.54.14"
_MOST: Final = 0.5


def runs(libraries: Sequence[Dumped], capability: tuple[int, int], first: int, driver: str) -> bool:
    """Whether most of the code loads: of each library as many fat binaries as have code for the GPU."""
    version = Version(driver)
    if version.major < first or version < Version(_first_driver(libraries)):
        return False
    loads = sum(_most(each, capability, version) for each in libraries)
    return loads >= _MOST * sum(max((*each.cubins.values(), *each.ptx.values())) for each in libraries)


def _first_driver(libraries: Iterable[Dumped]) -> str:
    """Of the newest CUDA that made the code; 0 where no cubin states it: PTX has a first driver of its own."""
    newest = max((each.toolkit for each in libraries if each.toolkit), key=Version, default="")
    return FIRST_DRIVERS.get(newest) or FIRST_DRIVERS.get(newest.partition(".")[0], "0")


def _most(library: Dumped, capability: tuple[int, int], driver: Version) -> int:
    """Fat binaries of a library with code that the driver loads on this GPU."""

    def is_unpacked(target: str) -> bool:
        return driver >= Version(UNPACKS_ZSTD) or library.by_zstd.get(target.rstrip("af"), 0) < _MOST

    def is_assembled(target: str) -> bool:
        return driver >= Version(PTX_DRIVERS.get(library.languages[target], "9999"))

    cubins = [count for target, count in library.cubins.items() if _is_for(target, capability) and is_unpacked(target)]
    ptx = [
        count
        for target, count in library.ptx.items()
        if _assembles(target, capability) and is_assembled(target) and is_unpacked(target)
    ]
    return max((*cubins, *ptx), default=0)


def _is_for(target: str, capability: tuple[int, int]) -> bool:
    """A cubin runs on its own major, from its own minor on; with `a` on its own GPU alone."""
    own = _capability(target)
    return own == capability if target.endswith("a") else own[0] == capability[0] and own[1] <= capability[1]


def _assembles(target: str, capability: tuple[int, int]) -> bool:
    """PTX is for its own GPU and all newer ones; with `a` or `f` as cubins."""
    return _is_for(target, capability) if target[-1] in "af" else _capability(target) <= capability


def _capability(target: str) -> tuple[int, int]:
    number = target.rstrip("af")
    return int(number[:-1]), int(number[-1])
