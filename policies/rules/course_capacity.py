"""P-TERM: the GPUs promised to the courses of a term fit the fleet, week by week."""

import datetime as dt
import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from compat import Verdict
from errors.problems import listing
from fleet.capacity import Shortage, Want, shortage
from fleet.courses import Course
from policies.finding import Finding, Level
from policies.model import Rule, Site
from policies.verdicts import outcomes


def check_stack(site: Site) -> Iterator[Finding]:
    """Compares promises and peaks with the GPUs for each course's images: per course, then per week."""
    pools = {course.name: _pools(course) for course in site.courses}
    taking = [course for course in site.courses if course.gpus_per_session and _runs(course, site)]
    alone = {course.name for course in taking if course.guaranteed > _room(pools[course.name], site)}
    for course in taking:
        if course.name in alone:
            yield _too_few(course, pools[course.name], site)
        elif waiting := _waiting(course, pools[course.name], site):
            yield waiting
    for weeks, there in _periods([course for course in taking if course.name not in alone]):
        promised = [Want(each.title, each.guaranteed, pools[each.name]) for each in there]
        if short := shortage(promised, site.room):
            yield Finding(_together(weeks, short, "are promised") + _assumed(there))
            continue
        wanted = [Want(each.title, _peak(each), pools[each.name]) for each in there]
        if len(there) > 1 and (short := shortage(wanted, site.room)):
            yield Finding(_together(weeks, short, "need", " at their peak") + _assumed(there), Level.WARN)


def _pools(course: Course) -> frozenset[str]:
    return frozenset(pool for choice in course.choices for pool in choice.pools)


def _runs(course: Course, site: Site) -> bool:
    """False if a course image does not run on a pool of its profile: P-RUN refuses and reports that."""
    return all(
        each.answer.verdict is not Verdict.INCOMPATIBLE
        for choice in course.choices
        for each in outcomes(site.uses_of(choice.image), site.alike(choice.pools), site.gpus)
    )


def _room(pools: frozenset[str], site: Site) -> int:
    return sum(site.room.get(pool, 0) for pool in pools)


def _peak(course: Course) -> int:
    """Peak GPUs, at most what the course may take."""
    wanted = math.ceil(course.seats * course.peak_share) * course.gpus_per_session
    return wanted if course.borrowable is None else min(wanted, course.guaranteed + course.borrowable)


def _too_few(course: Course, pools: frozenset[str], site: Site) -> Finding:
    have = f"the pools that run its images ({listing(sorted(pools))}) have {_room(pools, site)}"
    what = have if pools else "no pool runs its images"
    return Finding(f"{course.title} is promised {course.guaranteed} GPUs, but {what}" + _assumed([course]))


def _waiting(course: Course, pools: frozenset[str], site: Site) -> Finding | None:
    """A course whose own peak exceeds all it may use."""
    wanted = math.ceil(course.seats * course.peak_share) * course.gpus_per_session
    most, room = _peak(course), _room(pools, site)
    if wanted <= min(most, room):
        return None
    limit = (
        f"the pools that run its images ({listing(sorted(pools)) or 'none'}) have {room}"
        if room < most
        else f"it may use {most} ({course.guaranteed} guaranteed, {course.borrowable} borrowed)"
    )
    return Finding(
        f"{course.title} needs {wanted} GPUs at its peak ({course.seats} seats, {course.peak_share:.0%} of them"
        f" at once, {course.gpus_per_session} each), but {limit}, so some sessions wait" + _assumed([course]),
        Level.WARN,
    )


def _together(weeks: str, short: Shortage, verb: str, when: str = "") -> str:
    return (
        f"in {weeks}, {' and '.join(short.names)} {verb} {short.gpus} GPUs in total{when}, but the pools that run their"
        f" images ({listing(short.pools) or 'none'}) have {short.room}"
    )


def _assumed(courses: Sequence[Course]) -> str:
    return " (assumed by the stack file)" if any(course.is_assumed for course in courses) else ""


def _periods(courses: Sequence[Course]) -> Iterator[tuple[str, list[Course]]]:
    """Periods with the same courses, as weeks for people; those without a course are skipped."""
    edges = sorted({day for each in courses for day in (each.first_day, each.last_day + dt.timedelta(days=1))})
    for start, end in pairwise(edges):
        if there := [each for each in courses if each.first_day <= start <= each.last_day]:
            yield _weeks(start, end - dt.timedelta(days=1)), there


def _weeks(first: dt.date, last: dt.date) -> str:
    one, other = (f"{day.isocalendar().year}-W{day.isocalendar().week:02d}" for day in (first, last))
    return f"week {one}" if one == other else f"weeks {one} to {other}"


RULE = Rule(
    id="P-TERM",
    says="the GPUs promised to courses are available in every week of the term, on pools that run their images",
    remedy="Promise fewer GPUs, let the course use more pools, or move the course to other weeks.",
    check_stack=check_stack,
)
