"""Who uses an image on a pool: hubs, profiles and their courses, jobs. As words for pages, and as plain data."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

from cli.reports.words import counted


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
