"""Drivers at which an answer may turn: between two of them every driver gets the same."""

from __future__ import annotations

from compat import tables
from compat.model import ImageFacts, PoolFacts
from compat.rules.back import native_floor
from compat.rules.drop import first_drivers, last_driver
from compat.rules.minor import major_floor
from compat.versions import DriverVersion


def turning_drivers(image: ImageFacts, pool: PoolFacts) -> tuple[DriverVersion, ...]:
    """The oldest driver of the tables, and each one from which on some rule may answer otherwise; lowest first."""
    gpu, platform = pool.gpu, pool.platform
    turns = {tables.first_release(min(tables.driver_branches()))}
    for each in {each for each in (image.cuda, image.built_with, image.compat_line) if each is not None}:
        for found in (native_floor(each, platform), native_floor(each.line, platform), major_floor(each, platform)):
            turns |= {found[0]} if found else set()
        served = tables.forward_compats().get(each.line, {})
        turns |= {tables.first_release(branch) for branch in (*served, *image.compat_branches)}
    turns |= set(first_drivers(gpu, platform))
    last = last_driver(gpu, platform)
    if last is not None:
        newer = min((branch for branch in tables.driver_branches() if branch > last.branch), default=0)
        turns |= {tables.first_release(newer)} if newer else set()
    if image.stated_driver is not None:
        turns.add(image.stated_driver)
    return tuple(sorted(turns))
