"""Users of a fleet: hubs, profiles, jobs, and the courses of a term with their guarantees."""

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
    """A part of a stack that starts an image, its possible pools, and the courses that choose it."""

    image: str
    kind: str  # hub, proxy, profile, container, job
    name: str
    hub: str = ""  # of a profile
    pools: tuple[str, ...] = ()
    courses: tuple[UsingCourse, ...] = ()
    gpus: int = 0


@dataclass(frozen=True, slots=True)
class Choice:
    """An image that a course may start with GPUs, and its possible pools."""

    image: str
    pools: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Course:
    """A course of a term. `gpus_per_session` is 0 if no profile of it has GPUs."""

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
    is_assumed: bool = False  # the stack file marks part of it as a guess
