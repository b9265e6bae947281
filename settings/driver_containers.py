"""Driver containers that a stack runs on its own nodes: whose OS has no driver, and which the stack names by image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fleet.driver_key import DriverKey
from settings.instance_table import instance_pools
from settings.models import Stack


@dataclass(frozen=True, slots=True)
class DriverContainer:
    """The driver container of a pool."""

    pool: str
    key: DriverKey
    written: str  # the image as the stack file names it
    image: str  # what is pulled in its place, where the site replaces it


def driver_containers(stack: Stack) -> tuple[DriverContainer, ...]:
    """One for each pool that names an image; none without a runtime, and none that the site runs itself."""
    return tuple(_named(stack)) if stack.runtime else ()


def _named(stack: Stack) -> Iterator[DriverContainer]:
    for pool in instance_pools(stack):
        keys = pool.flatcar
        if keys and keys.driver_key and keys.driver_image:
            yield DriverContainer(pool.name, keys.driver_key, keys.driver_image, stack.substitute(keys.driver_image)[0])
