"""Who is affected by a change: hubs, profiles, courses and their seats, jobs."""

from __future__ import annotations

from dataclasses import dataclass

from cli.review.commons import Commons, Workload
from cli.review.details import Change


@dataclass(frozen=True, slots=True)
class Affected:
    """People and work behind one change. Empty if the stack names nobody."""

    own_pods: tuple[str, ...] = ()  # hubs whose hub or proxy pod changes
    profiles: tuple[Workload, ...] = ()
    courses: tuple[str, ...] = ()
    seats: int = 0
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ChangeImpact:
    """A change and everybody it affects."""

    change: Change
    affected: Affected


def affected_by(change: Change, old: Commons, new: Commons) -> Affected:
    """Everybody whose profile or job uses what changes, before or after."""
    name, sides = change.name, (old, new)
    workloads: list[Workload] = []
    own: list[str] = []
    match change.kind:
        case "course":
            return _in_course(name, old, new)
        case "container" | "job":
            return Affected(jobs=(name,))
        case "pool":
            workloads = [each for side in sides for each in side.workloads_on(name)]
        case "site" | "policies":
            workloads = [each for side in sides for each in (*side.profiles, *side.jobs)]
        case "hub":
            workloads = _touched_profiles(change, old, new)
        case "image":
            for side in (side for side in sides if name in side.images):  # those who start it or one built on it
                images = side.standing_on(side.images[name])
                workloads += (each for each in (*side.profiles, *side.jobs) if images & {*side.started_by(each)})
                own += (hub for hub, mine in side.hubs.items() if {image.name for image in images} & {*mine})
    by_name = {(each.hub, each.name): each for each in workloads if each.hub}
    courses = {(each.hub, each.name): each for side in sides for each in side.courses_of(by_name.values())}.values()
    return Affected(
        own_pods=tuple(dict.fromkeys(own)),
        profiles=tuple(by_name.values()),
        courses=tuple(dict.fromkeys(course.title for course in courses)),
        seats=sum(course.seats for course in courses),
        jobs=tuple(
            sorted({each.name for each in workloads if not each.hub})
        ),  # an engine registers resources in any order
    )


def _in_course(name: str, old: Commons, new: Commons) -> Affected:
    """Nobody if it is over."""
    found = [(side, course) for side in (old, new) for course in side.courses if course.name == name]
    chosen = {(each.hub, each.name): each for side, course in found for each in side.profiles if course.chooses(each)}
    return Affected(
        profiles=tuple(chosen.values()),
        courses=tuple(dict.fromkeys(course.title for _, course in found)),
        seats=max((course.seats for _, course in found), default=0),
    )


def _touched_profiles(change: Change, old: Commons, new: Commons) -> list[Workload]:
    """The profiles that differ, if only profiles and images do; else all."""
    before, after = ({each.name: each for each in side.profiles if each.hub == change.name} for side in (old, new))
    is_all = not change.details or any(each.loc[:1] != ("profiles",) for each in change.details if each.label)
    every = {**before, **after}.items()
    return [profile for name, profile in every if is_all or before.get(name) != after.get(name)]
