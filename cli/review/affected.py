"""Who is affected by a change: hubs, profiles, courses and their seats, jobs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from cli.review.commons import Commons, Job, Pool, Profile
from cli.review.details import Change


@dataclass(frozen=True, slots=True)
class Affected:
    """People and work behind one change. Empty if the stack names nobody."""

    own_pods: tuple[str, ...] = ()  # hubs whose hub or proxy pod changes
    profiles: tuple[Profile, ...] = ()
    courses: tuple[str, ...] = ()
    seats: int = 0
    jobs: tuple[str, ...] = ()


def affected_by(change: Change, old: Commons, new: Commons) -> Affected:
    """Everybody whose profile or job uses what changes, before or after."""
    find = _AFFECTED.get(change.kind)
    return find(change, old, new) if find else Affected()


def _on_pool(change: Change, old: Commons, new: Commons) -> Affected:
    named = pool_of(change.name, old, new).name
    return _together(
        (*old.profiles_on(named), *new.profiles_on(named)), (*old.jobs_on(named), *new.jobs_on(named)), old, new
    )


def _on_hub(change: Change, old: Commons, new: Commons) -> Affected:
    return _together(_touched_profiles(change, old, new), (), old, new)


def _by_job(change: Change, old: Commons, new: Commons) -> Affected:  # noqa: ARG001 - as the others
    return Affected(jobs=(change.name,))


def _everybody(change: Change, old: Commons, new: Commons) -> Affected:  # noqa: ARG001 - as the others
    return _together((*old.profiles, *new.profiles), (*old.jobs, *new.jobs), old, new)


def _in_course(change: Change, old: Commons, new: Commons) -> Affected:
    """Nobody if it is over."""
    found = [(side, course) for side in (old, new) for course in side.courses if course.name == change.name]
    chosen = {
        (each.hub, each.name): each
        for side, course in found
        for each in side.profiles
        if each.hub == course.hub and (not course.profiles or each.name in course.profiles)
    }
    titles = dict.fromkeys(course.title or course.name for _, course in found)
    return Affected(
        profiles=tuple(chosen.values()),
        courses=tuple(titles),
        seats=max((course.seats for _, course in found), default=0),
    )


def _by_image(change: Change, old: Commons, new: Commons) -> Affected:
    name = change.name
    profiles: list[Profile] = []
    jobs: list[Job] = []
    own: list[str] = []
    for commons in (old, new):
        if name not in commons.images:
            continue
        images = commons.standing_on(commons.images[name])
        labels, names = {image.label for image in images}, {image.name for image in images}
        profiles += (each for each in commons.profiles if labels & {image.label for image in commons.started_by(each)})
        jobs += (each for each in commons.jobs if labels & {image.label for image in commons.started_by(each)})
        own += (hub for hub, mine in commons.hubs.items() if names & {*mine})
    return replace(_together(profiles, jobs, old, new), own_pods=tuple(dict.fromkeys(own)))


def _touched_profiles(change: Change, old: Commons, new: Commons) -> tuple[Profile, ...]:
    """The profiles that differ, if only profiles and images do; else all."""
    both = [{each.name: each for each in side.profiles if each.hub == change.name} for side in (old, new)]
    every = {**both[0], **both[1]}
    if not change.details or not all(detail.loc[:1] == ("profiles",) for detail in change.details if detail.label):
        return tuple(every.values())
    return tuple(profile for name, profile in every.items() if both[0].get(name) != both[1].get(name))


_AFFECTED: Final[Mapping[str, Callable[[Change, Commons, Commons], Affected]]] = {
    "course": _in_course,
    "pool": _on_pool,
    "image": _by_image,
    "hub": _on_hub,
    "container": _by_job,
    "job": _by_job,
    "site": _everybody,
    "policies": _everybody,
}


def pool_of(name: str, old: Commons, new: Commons) -> Pool:
    return new.pools.get(name) or old.pools.get(name) or Pool(name, "", None, (), "", "")


def _together(profiles: Iterable[Profile], jobs: Iterable[Job], old: Commons, new: Commons) -> Affected:
    by_name = {(profile.hub, profile.name): profile for profile in profiles}
    courses = {
        (course.hub, course.name): course for commons in (old, new) for course in commons.courses_of(by_name.values())
    }
    return Affected(
        profiles=tuple(by_name.values()),
        courses=tuple(dict.fromkeys(course.title or course.name for course in courses.values())),
        seats=sum(course.seats for course in courses.values()),
        jobs=tuple(sorted({job.name for job in jobs})),  # an engine registers resources in any order
    )
