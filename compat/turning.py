"""Drivers at which an answer may turn: between two of them every driver gets the same."""

from __future__ import annotations

from functools import lru_cache

from compat import tables
from compat.model import Gpu, ImageFacts, Platform, PoolFacts
from compat.rules.back import native_floor
from compat.rules.drop import first_drivers, last_driver
from compat.rules.minor import major_floor
from compat.versions import CudaVersion, DriverVersion


def turning_drivers(image: ImageFacts, pool: PoolFacts) -> tuple[DriverVersion, ...]:
    """The oldest driver of the tables, and each one from which on some rule may answer otherwise; lowest first."""
    return _turns(
        image.cuda,
        image.built_with,
        image.compat_line,
        image.compat_branches,
        image.stated_driver,
        pool.gpu,
        pool.platform,
    )


@lru_cache(256)
def _served(line: CudaVersion) -> tuple[int, ...]:
    """Host branches of which the tables say whether the compat package of a line serves them."""
    return tuple(branch for each, branch in tables.forward_compats() if each == line)


@lru_cache(4096)
def _turns(  # noqa: PLR0913, PLR0917 - the key of the cache
    cuda: CudaVersion | None,
    built_with: CudaVersion | None,
    compat_line: CudaVersion | None,
    compat_branches: tuple[int, ...],
    stated_driver: DriverVersion | None,
    gpu: Gpu,
    platform: Platform,
) -> tuple[DriverVersion, ...]:
    turns = {tables.first_release(min(tables.driver_branches()))}
    for each in {each for each in (cuda, built_with, compat_line) if each is not None}:
        for found in (native_floor(each, platform), native_floor(each.line, platform), major_floor(each, platform)):
            turns |= {found[0]} if found else set()
        turns |= {tables.first_release(branch) for branch in (*_served(each.line), *compat_branches)}
    turns |= set(first_drivers(gpu, platform))
    last = last_driver(gpu, platform)
    if last is not None:
        newer = min((branch for branch in tables.driver_branches() if branch > last.branch), default=0)
        turns |= {tables.first_release(newer)} if newer else set()
    if stated_driver is not None:
        turns.add(stated_driver)
    return tuple(sorted(turns))
