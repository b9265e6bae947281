"""Checks processors: specs build images for x86-64, as their package locks do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from errors.problems import Fault, listing
from settings.fleet import usages
from settings.instance_pools import InstancePool
from settings.models import Stack

BUILT_FOR: Final = "amd64"


def other_processors(stack: Stack) -> Iterator[Fault]:
    """Instance pools whose nodes could not start one of their images."""
    for index, pool in enumerate(stack.fleet.pools):
        if not isinstance(pool, InstancePool) or pool.architecture == BUILT_FOR:
            continue
        if images := sorted({usage.image for usage in usages(stack) if pool.name in usage.pools}):
            reason = f"are {pool.architecture}, but images of a stack are built for {BUILT_FOR}: {listing(images)}"
            fix = f"use instance types with {BUILT_FOR}, or name other pools where these images are used"
            yield Fault(("fleet", "pools", index, "instance_types"), reason, fix, ", ".join(pool.instance_types))
