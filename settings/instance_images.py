"""Instances and the images that they start: root volumes derived from these, or refused, and processors."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from errors.problems import Fault, listing
from imaging.size.estimate import GB, GIB, Size, disk_use
from imaging.size.expected import expected_of
from imaging.size.measured import UNPACKED_RATIO
from imaging.spec.problems import SpecError
from platforms.aws.volumes import Volume, in_steps, root_volume_gib, volume_problems
from settings.fleet import usages
from settings.instance_pools import InstancePool
from settings.models import Stack

BUILT_FOR: Final = "amd64"


def with_root_disks(stack: Stack) -> Stack:
    """The stack with a root volume for each instance pool without one.

    Each image counts with its maximum allowed size: a volume sized by builds would change with every build
    and replace all nodes.
    """
    pools = tuple(
        pool.model_copy(update={"root_disk_gib": _derived(stack, pool)})
        if isinstance(pool, InstancePool) and not pool.root_disk_gib
        else pool
        for pool in stack.fleet.pools
    )
    return stack.model_copy(update={"fleet": stack.fleet.model_copy(update={"pools": pools})})


def check(stack: Stack) -> Iterator[Fault]:
    """Instance pools that could not hold their images, or not run them."""
    for index, pool in enumerate(stack.fleet.pools):
        if isinstance(pool, InstancePool):
            for each in (_too_small(stack, pool), _other_processor(stack, pool)):
                yield from (replace(fault, loc=("fleet", "pools", index, *fault.loc)) for fault in each)


def _too_small(stack: Stack, pool: InstancePool) -> Iterator[Fault]:
    known = [size for name in _landing(stack, pool) if (size := _least_size(stack, name))]
    volume = Volume(int(pool.root_disk_gib))
    for problem in volume_problems(volume, disk_use(known).total, parallel_pulls=False) if known else ():
        yield Fault(("root_disk_gib",), f"is not enough: {problem.reason}", problem.fix, pool.root_disk_gib)


def _least_size(stack: Stack, name: str) -> Size | None:
    """An image's size by its spec; None for specs with mistakes, which the build reports."""
    try:
        return expected_of(name, substitutes=stack.site.planned_substitutes)
    except SpecError:
        return None


def _other_processor(stack: Stack, pool: InstancePool) -> Iterator[Fault]:
    """Specs build images for x86-64, as their package locks do."""
    if pool.architecture != BUILT_FOR and (images := _landing(stack, pool)):
        reason = f"are {pool.architecture}, but images of a stack are built for {BUILT_FOR}: {listing(images)}"
        fix = f"use instance types with {BUILT_FOR}, or name other pools where these images are used"
        yield Fault(("instance_types",), reason, fix, ", ".join(pool.instance_types))


def _derived(stack: Stack, pool: InstancePool) -> int:
    limits = stack.site.image_limits
    own = {image.full_name: image.limit.compressed_gb for image in stack.images if image.limit}
    packed = [max(limits.refuse_compressed_gb, own.get(name, 0)) for name in _landing(stack, pool)]
    # The policy pack warns if an unpacked image exceeds this share of the volume.
    largest = max(packed, default=0) * UNPACKED_RATIO * GB / GIB / limits.unpacked_disk_share
    return max(root_volume_gib(round(sum(packed) * (1 + UNPACKED_RATIO) * GB)), in_steps(largest))


def _landing(stack: Stack, pool: InstancePool) -> tuple[str, ...]:
    """Images the pool's nodes may start, each once."""
    return tuple(sorted({usage.image for usage in usages(stack) if pool.name in usage.pools}))
