"""Who uses an image on a pool: by cell of the matrix, in words, as plain data."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from cli.words import counted
from fleet.courses import Usage, UsingCourse

if TYPE_CHECKING:  # pydantic alone costs a quarter of a second at start
    from settings.reading import Stack


Uses = Mapping[tuple[str, str], tuple[Usage, ...]]  # image and pool
NO_USES: Final[Uses] = MappingProxyType({})


def uses_of(stack: Stack) -> dict[tuple[str, str], tuple[Usage, ...]]:
    """Uses by image and column of the matrix, in the order of the stack file."""
    from settings.fleet import usages  # noqa: PLC0415 - see above

    columns = {pool.name: tuple(each.name for each in pool.variants() if each.gpus) for pool in stack.fleet.pools}
    by_place: dict[tuple[str, str], dict[Usage, None]] = {}
    for use in usages(stack):
        for column in (column for pool in use.pools for column in columns.get(pool, (pool,))):
            by_place.setdefault((use.image, column), {})[use] = None
    return {place: tuple(uses) for place, uses in by_place.items()}


def _named(use: Usage) -> str:
    return f"{use.kind} {use.name}"


def users_of(uses: Iterable[Usage]) -> str:
    """`profile gtx1080ti, job gpu-smoke`; empty for none."""
    return ", ".join(map(_named, uses))


def courses_of(uses: Iterable[Usage]) -> tuple[UsingCourse, ...]:
    """Courses behind these uses, each once."""
    return tuple(dict.fromkeys(course for use in uses for course in use.courses))


def seats_of(uses: Iterable[Usage]) -> str:
    """`2 courses, 300 seats`; empty if there are no courses."""
    courses = courses_of(uses)
    if not courses:
        return ""
    return f"{counted(len(courses), 'course')}, {counted(sum(course.seats for course in courses), 'seat')}"


def uses_in_words(uses: Sequence[Usage]) -> Iterator[str]:
    """One phrase for each use: `profile gpu of hub datahub: Deep learning (120 seats, until 2020-12-18)`."""
    for use in uses:
        of = f" of hub {use.hub}" if use.hub else ""
        courses = ", ".join(
            f"{course.title} ({counted(course.seats, 'seat')}, until {course.last_day})" for course in use.courses
        )
        yield f"{_named(use)}{of}" + (f": {courses}" if courses else "")


def uses_data(uses: Sequence[Usage]) -> list[dict[str, Any]]:
    """The stable form."""
    return [
        {
            "kind": use.kind,
            "name": use.name,
            "hub": use.hub,
            "courses": [{**asdict(course), "last_day": course.last_day.isoformat()} for course in use.courses],
        }
        for use in uses
    ]
