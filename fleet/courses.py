"""Who uses a fleet: hubs, profiles and jobs, courses of a term, and what they were promised."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class UsingCourse:
    """A course that may choose a profile."""

    name: str
    title: str
    seats: int
    last_day: dt.date


@dataclass(frozen=True, slots=True)
class Usage:
    """One thing of a stack that starts an image, the pools where it may land, and the courses that choose it."""

    image: str
    kind: str  # hub, proxy, profile, container, job
    name: str
    hub: str = ""  # of a profile
    pools: tuple[str, ...] = ()
    courses: tuple[UsingCourse, ...] = ()
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """An image that a course may start with GPUs, and the pools where that may land."""

    image: str
    pools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """A course of a term. `gpus_per_session` is 0 where no profile of it has GPUs."""

    name: str
    title: str
    seats: int
    peak_share: float
    guaranteed: int
    borrowable: int | None  # None: any
    gpus_per_session: int
    first_day: dt.date
    last_day: dt.date
    choices: tuple[Choice, ...]
    is_assumed: bool = False  # the stack file says that some of it is a guess
