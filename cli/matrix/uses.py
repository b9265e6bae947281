"""Who uses an image on a pool: hubs, profiles and their courses, jobs. Found in a stack; as words; as plain data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from cli.words import counted

if TYPE_CHECKING:  # pydantic alone costs a quarter of a second at start
    from settings.reading import Stack


@dataclass(frozen=True, slots=True)
class UsingCourse:
    """A course that may choose a profile."""

    name: str
    title: str
    seats: int
    last_day: dt.date


@dataclass(frozen=True, slots=True)
class Use:
    """One thing of a stack that starts an image on a pool."""

    kind: str  # hub, proxy, profile, job
    name: str
    hub: str = ""  # of a profile
    courses: tuple[UsingCourse, ...] = ()

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


Uses = Mapping[tuple[str, str], tuple[Use, ...]]  # image and pool
NO_USES: Final[Uses] = MappingProxyType({})


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


def users_of(uses: Iterable[Use]) -> str:
    """`profile gtx1080ti, job gpu-smoke`; empty for none."""
    return ", ".join(map(str, uses))


def courses_of(uses: Iterable[Use]) -> tuple[UsingCourse, ...]:
    """Courses behind these uses, each once."""
    return tuple(dict.fromkeys(course for use in uses for course in use.courses))


def seats_of(uses: Iterable[Use]) -> str:
    """`2 courses, 300 seats`; empty where no course is meant."""
    courses = courses_of(uses)
    if not courses:
        return ""
    return f"{counted(len(courses), 'course')}, {counted(sum(course.seats for course in courses), 'seat')}"


def told_uses(uses: Sequence[Use]) -> Iterator[str]:
    """One sentence part for each use: `profile gpu of hub datahub: Deep learning (120 seats, until 2020-12-18)`."""
    for use in uses:
        of = f" of hub {use.hub}" if use.hub else ""
        courses = ", ".join(
            f"{course.title} ({counted(course.seats, 'seat')}, until {course.last_day})" for course in use.courses
        )
        yield f"{use}{of}" + (f": {courses}" if courses else "")


def uses_data(uses: Sequence[Use]) -> list[dict[str, Any]]:
    """The stable form."""
    return [
        {
            "kind": use.kind,
            "name": use.name,
            "hub": use.hub,
            "courses": [
                {
                    "name": course.name,
                    "title": course.title,
                    "seats": course.seats,
                    "last_day": course.last_day.isoformat(),
                }
                for course in use.courses
            ],
        }
        for use in uses
    ]
