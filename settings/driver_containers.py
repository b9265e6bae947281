"""Driver containers for the stack's own nodes whose OS has no driver, named by image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fleet.driver_key import DriverKey
from settings.instance_table import instance_pools
from settings.models import Stack


@dataclass(frozen=True, slots=True)
class DriverContainer:
    """A pool's driver container."""

    pool: str
    key: DriverKey
    written: str  # the image in the stack file
    image: str  # what is pulled instead, if the site replaces it


def driver_containers(stack: Stack) -> tuple[DriverContainer, ...]:
    """One per pool that names an image; none without a runtime, or if the site runs its own."""
    return tuple(_named(stack)) if stack.runtime else ()


def _named(stack: Stack) -> Iterator[DriverContainer]:
    for pool in instance_pools(stack):
        keys = pool.flatcar
        if keys and keys.driver_key and keys.driver_image:
            yield DriverContainer(pool.name, keys.driver_key, keys.driver_image, stack.substitute(keys.driver_image)[0])
