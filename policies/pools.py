"""From the settings of a stack to what the compatibility engine asks: its pools, and what runs there with GPUs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from components.compat import Case
from policies.model import Choice, Course, PoolGpus, Usage

if TYPE_CHECKING:
    from components.stack.models import Pool, Stack

# Keys of a pool in a stack file → fields that the engine's rules say they read.
_READ_AS: Final = {"gpu": "gpu", "driver": "driver", "container_toolkit": "container_toolkit"}
_PROMISES: Final = frozenset({"seats", "peak_share", "guaranteed_gpus", "borrowable_gpus", "first_day", "last_day"})


def case_of(pool: Pool) -> Case:
    """A pool as the engine takes it, without an image."""
    toolkit = str(pool.container_toolkit)
    return Case(gpu=str(pool.gpu), driver=str(pool.driver), container_toolkit=toolkit, host="kubernetes")


def pool_gpus(pool: Pool) -> PoolGpus:
    """The same, and what of it is an assumption of the stack file."""
    return PoolGpus(case_of(pool), frozenset(_READ_AS[key] for key in pool.assumptions if key in _READ_AS))


def usages(stack: Stack) -> Iterator[Usage]:
    """Profiles and jobs that ask for GPUs, with the pools that have enough of them."""
    for hub in stack.hubs:
        for profile in hub.profiles:
            if profile.gpus:
                courses = tuple(
                    f"{course.title} ({course.seats} {'seat' if course.seats == 1 else 'seats'})"
                    for course in stack.courses
                    if course.hub == hub.name and profile.name in course.profiles
                )
                pools = _pools(stack, profile.pool or stack.site.core_pool, profile.gpus)
                yield Usage(profile.image, "profile", profile.name, hub.name, pools, courses)
    for job in stack.jobs:
        if job.gpus:
            yield Usage(job.image, "job", job.name, "", _pools(stack, job.pool, job.gpus))


def courses(stack: Stack) -> Iterator[Course]:
    """Courses of the term with what each may start."""
    hubs = {hub.name: hub for hub in stack.hubs}
    for course in stack.courses:
        hub = hubs[course.hub]
        chosen = [each for each in hub.profiles if each.name in course.profiles and each.gpus]
        yield Course(
            name=course.name,
            title=course.title,
            seats=course.seats,
            peak_share=course.peak_share,
            guaranteed=course.guaranteed_gpus,
            borrowable=course.borrowable_gpus,
            gpus_per_session=max((each.gpus for each in chosen), default=0),
            first_day=course.first_day,
            last_day=course.last_day,
            choices=tuple(
                Choice(each.image, _pools(stack, each.pool or stack.site.core_pool, each.gpus)) for each in chosen
            ),
            is_assumed=bool(set(course.assumptions) & _PROMISES),
        )


def _pools(stack: Stack, name: str | None, gpus: int) -> tuple[str, ...]:
    return tuple(pool.name for pool in stack.fleet.pools if (name in (None, pool.name)) and pool.gpus_per_node >= gpus)
