"""Which CUDA a program of a given month was built with, without other evidence: one of those in use then.

Projects take a toolkit some months after it came and keep it for years, so the era of a month reaches from the line
that was the newest two and a half years before to the newest of the month. What holds for the whole era holds for the
program.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from compat.evidence.drivers import major_floor, native_floor
from compat.facts import tables
from compat.facts.rows import Architecture, Toolkit
from compat.values.model import Platform
from compat.values.versions import CudaVersion, DriverVersion

_KEPT_FOR = 30  # months that projects go on with a toolkit
_TAKEN_UP_IN = 6  # months until nearly all build for a new GPU


@dataclass(frozen=True, slots=True)
class Era:
    """Lines of CUDA in use in a month, oldest first, and those that were no longer new."""

    month: str
    lines: tuple[CudaVersion, ...]
    settled: CudaVersion
    newest: Toolkit


@lru_cache(1024)
def era_of(month: str) -> Era | None:
    """The era of `2017-11`; None where the tables do not reach so far back."""
    dated = [(each.released, each) for each in tables.toolkits() if each.released]
    until = [each for released, each in dated if released <= month]
    before = [each for released, each in dated if released <= _earlier(month, _KEPT_FOR)]
    settled = [each for released, each in dated if released <= _earlier(month, _TAKEN_UP_IN)]
    if not until or not before or not settled:
        return None
    oldest, newest = max(each.version.line for each in before), max(until, key=lambda each: each.version)
    lines = sorted({each.version.line for each in until if each.version.line >= oldest})
    return Era(month, tuple(lines), max(each.version.line for each in settled), newest)


def runs_all(era: Era, driver: DriverVersion, platform: Platform) -> bool:
    """Does the driver run machine code of each toolkit of the era?"""
    floors = [_floor(line, platform) for line in era.lines]
    return all(floor is not None and driver >= floor for floor in floors)


def runs_none(era: Era, driver: DriverVersion, platform: Platform) -> bool:
    """Is the driver too old for each of them?"""
    floors = [_floor(line, platform) for line in era.lines]
    return all(floor is not None and driver < floor for floor in floors)


def made_by_all(era: Era, arch: Architecture) -> bool:
    """Had the GPU's first toolkit been there for some months, and does the newest one still know the GPU?"""
    is_known = arch.first_cuda is not None and arch.first_cuda <= era.settled
    return is_known and (arch.last_cuda is None or arch.last_cuda >= era.lines[-1])


def made_by_none(era: Era, arch: Architecture) -> bool:
    """Had the last toolkit that knew the GPU gone out of use? A GPU that came later may still be served by PTX."""
    return arch.last_cuda is not None and arch.last_cuda < era.lines[0]


def _floor(line: CudaVersion, platform: Platform) -> DriverVersion | None:
    found = major_floor(line, platform) or native_floor(line, platform)
    return found[0] if found else None


def _earlier(month: str, by: int) -> str:
    year, number = map(int, month.split("-"))
    months = year * 12 + number - 1 - by
    return f"{months // 12}-{months % 12 + 1:02}"
