"""What of a stack starts which image on which pool."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from cli.reports.uses import Use, UsingCourse

if TYPE_CHECKING:  # pydantic alone costs a quarter of a second at start
    from settings.reading import Stack


def uses_of(stack: Stack) -> dict[tuple[str, str], tuple[Use, ...]]:
    """Uses by image and column of the matrix, in the order of the stack file."""
    columns = {pool.name: tuple(each.name for each in pool.variants() if each.gpus) for pool in stack.fleet.pools}
    found: dict[tuple[str, str], dict[Use, None]] = {}
    for image, use, pools in _uses(stack):
        for pool in pools:
            for column in columns.get(pool, (pool,)):
                found.setdefault((image, column), {})[use] = None
    return {place: tuple(uses) for place, uses in found.items()}


def _uses(stack: Stack) -> Iterator[tuple[str, Use, tuple[str, ...]]]:
    """Image, use, and the pools that it may land on."""
    from settings.fleet import usages  # noqa: PLC0415 - see above

    # Where what asks for GPUs may land is decided in one place, that of the pack.
    with_gpus = {(each.kind, each.hub, each.name): each.pools for each in usages(stack)}
    everywhere = tuple(pool.name for pool in stack.fleet.pools)
    core = (stack.site.core_pool,) if stack.site.core_pool else everywhere
    for hub in stack.hubs:
        yield hub.hub_image, Use("hub", hub.name), core
        yield hub.proxy_image, Use("proxy", hub.name), core
        for profile in hub.profiles:
            courses = tuple(
                UsingCourse(course.name, course.title, course.seats, course.last_day)
                for course in stack.courses
                if course.hub == hub.name and profile.name in course.profiles
            )
            pools = with_gpus.get(("profile", hub.name, profile.name)) or stack.profile_pools(profile) or everywhere
            yield profile.image, Use("profile", profile.name, hub.name, courses), pools
    for job in stack.jobs:
        pools = with_gpus.get(("job", "", job.name)) or job.named_pools or everywhere
        yield job.image, Use("job", job.name), pools
