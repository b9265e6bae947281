"""A case that does not run, and whether it would run with a change. Only changes that the rules let run are offered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from compat.evidence import alternatives as instead
from compat.evidence.case import POOL_FIELDS, Case
from compat.evidence.contents import read_images, system_of
from compat.evidence.drivers import last_driver, turning_drivers
from compat.evidence.pools import lowest_driver
from compat.facts import tables
from compat.rules.solve import runs
from compat.values.model import Change, ImageFacts, Platform, PoolFacts, Present, Severity
from compat.values.versions import DriverVersion


@dataclass(frozen=True, slots=True)
class FailingCase:
    """A case that does not run, as it was read: what it may mean, and the image and pool that stand for it."""

    case: Case  # as written, for the image
    shown: Case  # as written, for the host
    image: ImageFacts
    pool: PoolFacts
    images: tuple[ImageFacts, ...]
    pools: tuple[PoolFacts, ...]

    @property
    def lowest(self) -> DriverVersion | None:
        return lowest_driver(self.pools)


def change(failing: FailingCase, field: str, to: str) -> Change:
    return Change(field, getattr(failing.shown if field in POOL_FIELDS else failing.case, field), to)


def changed_images(case: Case, changes: tuple[Change, ...], pool: PoolFacts) -> tuple[ImageFacts, ...]:
    """Images of the changed case; none where it leaves open what runs."""
    found = read_images(case.with_changes(changes), system_of(pool))
    is_open = any(each.severity.rank > Severity.WARN.rank for each in found.notes)
    is_unknown = any(each.unknown_build is not None for each in found.values)
    return () if found.problems or is_open or is_unknown else found.values


def all_run(images: Iterable[ImageFacts], pools: Iterable[PoolFacts]) -> bool:
    """Does each of them run on each? Without a stated driver, none does."""
    pools = tuple(pools)
    return all(pool.is_exact for pool in pools) and all(runs(image, pool) for image in images for pool in pools)


def running_drivers(images: tuple[ImageFacts, ...], failing: FailingCase) -> Iterator[DriverVersion]:
    """Drivers that run all images on all pools, among those at which an answer may change; lowest first."""
    turning = turning_drivers(images[0], failing.pool)
    return (driver for driver in turning if serves(images, failing, driver))


def serves(images: tuple[ImageFacts, ...], failing: FailingCase, driver: DriverVersion) -> bool:
    here = on_drivers(failing, driver)
    return _may_reach(images[0], here[0]) and all_run(images, here)


def is_driven(pool: PoolFacts) -> bool:
    """Does the driver drive the GPU at all?"""
    if pool.driver is None:
        return True
    arch, last = tables.architectures().get(pool.gpu.capability), last_driver(pool.gpu, pool.platform)
    first = arch.first_branch if arch is not None and pool.platform is not Platform.WINDOWS else None
    return (first or 0) <= pool.driver.branch and (last is None or pool.driver <= last)


def _may_reach(image: ImageFacts, pool: PoolFacts) -> bool:
    """Could this driver suffice for the image's CUDA? Without a compat package it must reach that CUDA."""
    if image.cuda is None or image.compat_package is not Present.NO:
        return is_driven(pool)
    return is_driven(pool) and image.cuda.line <= instead.newest_reached(pool.driver, pool.platform)


def on_drivers(failing: FailingCase, *drivers: DriverVersion | None) -> tuple[PoolFacts, ...]:
    """The pools with other drivers; each GPU once."""
    pools = {pool.gpu: pool for pool in reversed(failing.pools)}
    return tuple(replace(pool, driver=driver) for pool in reversed(pools.values()) for driver in drivers)
