"""Who is affected by a change: hubs, profiles, courses and their seats, jobs; nodes that drain, sessions that end.

What follows from the stack is told as it is. What depends on how a site works is told as an assumption.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cli.reports.words import counted
from cli.review.cells import Cell
from cli.review.commons import HUB, OURS, Commons, Job, Pool, Profile
from cli.review.details import Change
from cli.review.stream import Step, Stream
from cli.review.values import known_text, mapping, names_of

_RESTARTING: Final = {"StatefulSet", "Deployment", "DaemonSet"}


@dataclass(frozen=True, slots=True)
class Affected:
    """People and work behind one change. Empty: nobody whom the stack names."""

    own_pods: tuple[str, ...] = ()  # hubs whose hub or proxy pod it is about
    profiles: tuple[Profile, ...] = ()
    courses: tuple[str, ...] = ()
    seats: int = 0
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Consequence:
    """What somebody will notice. `known` follows from the stack; `assumed` from how sites usually work."""

    known: str
    assumed: str = ""


def affected_by(change: Change, old: Commons, new: Commons) -> Affected:
    """Everybody whose profile or job uses what changes, before or after."""
    find = _AFFECTED.get(change.kind)
    return find(change, old, new) if find else Affected()


def _on_pool(change: Change, old: Commons, new: Commons) -> Affected:
    named = _pool_of(change.name, old, new).name
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
    """Nobody, where it is over."""
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
    """Those that differ, where only profiles and images do; else all of the hub."""
    both = [{each.name: each for each in side.profiles if each.hub == change.name} for side in (old, new)]
    every = {**both[0], **both[1]}
    if not change.details or not all(detail.label.startswith("profile ") for detail in change.details if detail.label):
        return tuple(every.values())
    return tuple(profile for name, profile in every.items() if both[0].get(name) != both[1].get(name))


_AFFECTED: Final[Mapping[str, Callable[[Change, Commons, Commons], Affected]]] = {
    "course": _in_course,
    "pool": _on_pool,
    "image": _by_image,
    "hub": _on_hub,
    "job": _by_job,
    "site": _everybody,
    "policies": _everybody,
}


def _pool_of(name: str, old: Commons, new: Commons) -> Pool:
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
        jobs=tuple(dict.fromkeys(job.name for job in jobs)),
    )


def consequences(stream: Stream, changes: Sequence[Change], old: Commons, new: Commons) -> tuple[Consequence, ...]:
    """What people will notice: drains, restarts, pulls."""
    pools = [change for change in changes if change.kind == "pool"]
    return (
        *_drains(
            [each for each in pools if each.op in {"update", "replace"} and each.has("driver", "container toolkit")],
            old,
            new,
        ),
        *_taints(pools, old, new),
        *_lost_nodes(pools, old, new),
        *_restarts(stream),
        *_images(changes, old, new),
        *_gone_hubs(changes),
        *_jobs(changes),
    )


def _drains(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    if not changes:
        return
    pools = [_pool_of(change.name, old, new) for change in changes]
    nodes = [node for pool in pools for node in pool.nodes]
    gpus = sum(pool.gpus or 0 for pool in pools)
    versions = list(dict.fromkeys(word for change in changes for word in _installed(change)))
    sessions = sum(_sessions(pool, new) for pool in pools)
    room = f"up to {sessions:,} sessions with a GPU fit there; " if sessions else ""
    yield Consequence(
        known="This update changes labels: it installs nothing on a node, drains none and ends no session. Somebody at "
        f"the site has yet to install {' and '.join(versions)} on {counted(len(nodes), 'node')} ({gpus:,} GPUs).",
        assumed=f"that needs an empty node, so sessions and jobs on {names_of(nodes)} end as each one drains; {room}"
        "how many run, no preview knows.",
    )


def _installed(change: Change) -> Iterator[str]:
    return (f"{each.label} {each.after}" for each in change.details if each.label in {"driver", "container toolkit"})


def _sessions(pool: Pool, commons: Commons) -> int:
    """As many as have room by GPUs: each profile asks for one at least."""
    asked = [profile.gpus for profile in commons.profiles_on(pool.name) if profile.gpus]
    return (pool.gpus_per_node or 0) // min(asked) * len(pool.nodes) if asked else 0


def _taints(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    """As Kubernetes treats pods that do not tolerate one."""
    for change in changes:
        nodes = counted(len(_pool_of(change.name, old, new).nodes), "node")
        added = (each.after for each in change.details if each.label == "taints")
        for taint in (taint for some in added for taint in some.split(", ") if taint):
            where = f"on the {nodes} of {change.name}"
            if taint.endswith(":NoExecute"):
                yield Consequence(f"What does not tolerate {taint} is ended {where} at once, sessions included.")
            elif taint.endswith(":NoSchedule"):
                yield Consequence(f"Nothing new starts {where} without tolerating {taint}; what runs there goes on.")


def _lost_nodes(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    for change in changes:
        before, after = old.pools.get(change.name), new.pools.get(change.name)
        gone = [node for node in before.nodes if after is None or node not in after.nodes] if before else []
        joined = {node: pool.name for pool in new.pools.values() for node in pool.nodes}
        left = [node for node in gone if node not in joined]
        if before and left:
            verbs = ("leaves", "loses") if len(left) == 1 else ("leave", "lose")
            yield Consequence(
                f"{names_of(left)} {verbs[0]} pool {before.name} and {verbs[1]} its labels and taints: nothing new "
                "lands there. What runs on it goes on."
            )
        for pool in dict.fromkeys(joined[node] for node in gone if node in joined):
            moved = [node for node in gone if joined.get(node) == pool]
            yield Consequence(
                f"{names_of(moved)} move{'s' if len(moved) == 1 else ''} from pool {change.name} to {pool}."
            )
        if before and after is None:
            for profile in new.profiles:
                if profile.pool == before.name:
                    yield Consequence(
                        f"Profile {profile.name} of {profile.hub} asks for pool {before.name}, which goes."
                    )


def _restarts(stream: Stream) -> Iterator[Consequence]:
    for step in sorted(stream.changed, key=lambda step: (step.type, step.name)):
        kind = step.type.rpartition(":")[2]
        if step.op not in {"update", "replace"} or kind not in _RESTARTING or not _restarts_pods(step):
            continue
        owner = step.parents.split("$")
        name = known_text(mapping((step.new or {}).get("metadata")).get("name")) or step.name
        if HUB in owner:
            yield _hub_restart(name, step.name.removesuffix(f"-{name}"))
        elif f"{OURS}NvidiaRuntime" in owner:
            yield Consequence(
                f"{name} restarts on every GPU node: pods that run keep their GPUs; new ones wait for it."
            )
        elif f"{OURS}PrePuller" not in owner:
            space = known_text(mapping((step.new or {}).get("metadata")).get("namespace"))
            yield Consequence(f"{kind} {f'{space}/' if space else ''}{name} restarts its pods.")


def _restarts_pods(step: Step) -> bool:
    """Whether the pod template differs."""
    old, new = (mapping(mapping((inputs or {}).get("spec")).get("template")) for inputs in (step.old, step.new))
    return old != new or step.op == "replace"


def _hub_restart(name: str, hub: str) -> Consequence:
    if name == "proxy":
        return Consequence(f"The proxy of hub {hub} restarts: open notebooks lose their connection until it is back.")
    return Consequence(
        f"The {name} pod of {hub} restarts: notebook sessions go on, because they are pods of their own; "
        "nobody can log in or start a server until it is back."
    )


def _images(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    for change in changes:
        image = new.images.get(change.name) if change.kind == "image" else None
        if image is None or change.op == "delete":
            continue
        used = [profile for profile in new.profiles if image in new.started_by(profile)]
        if change.op != "create" and any(profile.image == image.name for profile in old.profiles):
            yield Consequence(
                f"Sessions that run keep the old {image.label} until they are stopped; "
                "the next start takes the new one."
            )
        pools = list(dict.fromkeys(profile.pool for profile in used))
        nodes = {pool: len(new.pools[pool].nodes) for pool in pools if pool in new.pools}
        pulled = [pool for pool in nodes if (pool, image.name) in new.pulled]
        waiting = [pool for pool in nodes if pool not in pulled]
        size = f" ({image.size:,.0f} MB)" if image.size and old.images.get(image.name) == image else ""
        if pulled:
            count = sum(nodes[pool] for pool in pulled)
            yield Consequence(
                f"{counted(count, 'node')} of {', '.join(pulled)} pull {image.label}{size} ahead of time."
            )
        if waiting:
            count = sum(nodes[pool] for pool in waiting)
            yield Consequence(
                f"The first session on each of {counted(count, 'node')} of {', '.join(waiting)} waits for the pull of "
                f"{image.label}{size}."
            )


def waits_for_nodes(early: Sequence[Cell], old: Commons, new: Commons) -> Iterator[Consequence]:
    """Images that somebody may start before the nodes have what the change declares."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in early:
        missing = " and ".join(_declared(old.pools[cell.pool], new.pools[cell.pool]))
        groups.setdefault((cell.image, missing, cell.reason), []).append(cell)
    for (image, missing, reason), cells in groups.items():
        why = f" ({reason.rstrip('.')})" if reason else ""
        uses = sorted({use for cell in cells for use in cell.uses})
        yield Consequence(
            f"Before this update the nodes of {names_of([cell.pool for cell in cells])} need {missing}: until then "
            f"{image} does not run there{why}, and {names_of(uses)} will start it."
        )


def _declared(old: Pool, new: Pool) -> Iterator[str]:
    """What nodes have to get."""
    for word, before, after in (
        ("", old.gpu, new.gpu),
        ("driver ", old.driver, new.driver),
        ("container toolkit ", old.toolkit, new.toolkit),
    ):
        if before != after:
            yield f"{word}{after}"


def _gone_hubs(changes: Sequence[Change]) -> Iterator[Consequence]:
    for change in changes:
        if change.kind == "hub" and change.op == "delete":
            yield Consequence(
                f"Hub {change.name} goes: nobody reaches a notebook through it any more. Its namespace stays, and with "
                "it homes, the hub's database and servers that run."
            )


def _jobs(changes: Sequence[Change]) -> Iterator[Consequence]:
    for change in changes:
        if change.kind == "job" and change.op in {"update", "replace"}:
            yield Consequence(
                f"Job {change.name} is made anew: a run in progress ends, and it starts from the beginning."
            )
