"""What people will notice of a change: nodes that drain, servers that restart, sessions that end, pulls that wait.

What follows from the stack is told as it is. What depends on how a site works is told as an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cli.review.affected import pool_of
from cli.review.cells import Cell, was_part
from cli.review.commons import HUB, IMAGE, OURS, Commons, Course, Pool, Profile, lands_on
from cli.review.details import Change
from cli.review.stream import Step, Stream
from cli.review.values import known_text, mapping, names_of, texts
from cli.words import counted

# Inputs that say what somebody installs on nodes: of a GpuNodePool, and of a stack file's pool as it is recorded.
_DRIVER: Final = (("driver_version",), ("driver",))
_INSTALLED: Final = {
    **dict.fromkeys(_DRIVER, "driver"),
    **dict.fromkeys((("container_toolkit_version",), ("container_toolkit",)), "container toolkit"),
}
_RESTARTING: Final = {"StatefulSet", "Deployment", "DaemonSet"}


@dataclass(frozen=True, slots=True)
class Consequence:
    """What somebody will notice. `known` follows from the stack; `assumed` from how sites usually work."""

    known: str
    assumed: str = ""
    short: str = ""  # for the headline; empty where others say enough
    to_do: bool = False  # somebody has to do something about it
    before_update: bool = False  # and has to do it first
    is_heavy: bool = False  # sessions end, or people lose what they had


def consequences(
    stream: Stream, changes: Sequence[Change], old: Commons, new: Commons, early: Sequence[Cell]
) -> tuple[Consequence, ...]:
    """What people will notice, what weighs most first: drains, nodes and hubs that go, restarts, pulls."""
    pools = [change for change in changes if change.kind == "pool"]
    return (
        *_waits_for_nodes(early, old, new),
        *_drains([each for each in pools if each.op in {"update", "replace"}], old, new, early),
        *_drifted(stream, pools),
        *_taints(pools, old, new),
        *_lost_nodes(pools, old, new),
        *_gone_hubs(changes, old),
        *_restarts(stream, new),
        *_images(stream, changes, old, new),
        *_jobs(changes),
    )


def _drains(pool_changes: Sequence[Change], old: Commons, new: Commons, early: Sequence[Cell]) -> Iterator[Consequence]:
    changes = [each for each in pool_changes if [*_installed(each)]]
    if not changes:
        return
    pools = [_moved(change, old, new) for change in changes]
    nodes = [node for pool in pools for node in pool.nodes]
    gpus = sum(pool.gpus or 0 for pool in pools)
    versions = " and ".join(dict.fromkeys(word for change in changes for word in _installed(change)))
    sessions = sum(_sessions(pool, new) for pool in pools)
    room = f"up to {sessions:,} sessions with a GPU fit there; " if sessions else ""
    is_first = any(new.parts[cell.pool].whole in {pool.name for pool in pools} for cell in early)
    what = f"{counted(gpus, 'GPU')} in {counted(len(nodes), 'node')}" if gpus else counted(len(nodes), "node")
    seats = _seats(pools, new)
    yield Consequence(
        known="This update changes labels: it installs nothing on a node, drains none and ends no session. Somebody at "
        f"the site has yet to install {versions} on {counted(len(nodes), 'node')} ({gpus:,} GPUs).",
        assumed=f"that needs an empty node, so sessions and jobs on {names_of(nodes)} end as each one drains; {room}"
        "a preview cannot know how many are running.",
        short=f"{what} {'restarts' if gpus == 1 or (not gpus and len(nodes) == 1) else 'restart'}"
        f"{f'; {seats}' if seats else ''}; install {versions}{' first' if is_first else ''}",
        to_do=True,
        is_heavy=True,
    )


def _seats(pools: Sequence[Pool], commons: Commons) -> str:
    """`300 seats` of the courses whose people may start a server on one of them; empty where there are none."""
    courses = commons.courses_of(profile for pool in pools for profile in commons.profiles_on(pool.name))
    number = sum(course.seats for course in courses)
    return counted(number, "seat") if number else ""


def _drifted(stream: Stream, changes: Sequence[Change]) -> Iterator[Consequence]:
    """Nodes that do not report the declared driver, of pools whose driver this change leaves alone."""
    changed = {change.name for change in changes if any(each.loc in _DRIVER and each.after for each in change.details)}
    for pool, found in sorted(mapping(stream.new_outputs.get("drifted_nodes")).items()):
        if (nodes := texts(found)) and pool not in changed:
            yield Consequence(
                f"{names_of(nodes)} of pool {pool} still {'reports' if len(nodes) == 1 else 'report'} another driver "
                "than the declared one: somebody has yet to install it.",
                short=f"{counted(len(nodes), 'node')} of {pool} still {'waits' if len(nodes) == 1 else 'wait'} for the "
                "declared driver",
                to_do=True,
            )


def _installed(change: Change) -> Iterator[str]:
    """`driver 580.95.05`, of the pool or of some of its nodes."""
    return (f"{_INSTALLED[each.loc]} {each.after}" for each in change.details if each.loc in _INSTALLED and each.after)


def _moved(change: Change, old: Commons, new: Commons) -> Pool:
    """The nodes of the pool that somebody has to touch; all of it, where nobody knows what it was."""
    pool, before = pool_of(change.name, old, new), old.pools.get(change.name)
    if before is None:
        return pool
    nodes = [
        node
        for node in pool.nodes
        if (before.of_node(node) != pool.of_node(node) if node in before.nodes else before.driver != pool.driver)
    ]
    return replace(pool, nodes=tuple(nodes))


def _sessions(pool: Pool, commons: Commons) -> int:
    """As many as have room by GPUs: each profile asks for one at least."""
    asked = [profile.gpus for profile in commons.profiles_on(pool.name) if profile.gpus]
    return (pool.gpus_per_node or 0) // min(asked) * len(pool.nodes) if asked else 0


def _taints(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    """As Kubernetes treats pods that do not tolerate one."""
    for change in changes:
        before, after = old.pools.get(change.name), new.pools.get(change.name)
        if before is None or after is None:
            continue
        where = f"on the {counted(len(after.nodes), 'node')} of {change.name}"
        for taint in (each for each in after.taints if each not in before.taints):
            if taint.endswith(":NoExecute"):
                yield Consequence(
                    f"Whatever does not tolerate {taint} is evicted {where} at once, sessions included.",
                    short=f"sessions {where} end at once",
                    is_heavy=True,
                )
            elif taint.endswith(":NoSchedule"):
                yield Consequence(
                    f"Nothing new starts {where} without tolerating {taint}; what runs there keeps running."
                )


def _lost_nodes(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    joined = {node: pool.name for pool in new.pools.values() for node in pool.nodes}
    for change in changes:
        before, after = old.pools.get(change.name), new.pools.get(change.name)
        if before is None:
            continue
        gone = [node for node in before.nodes if after is None or node not in after.nodes]
        if left := [node for node in gone if node not in joined]:
            yield _less_room(left, before, after, old, new)
            yield _out_of_pool(left, before)
        for pool in dict.fromkeys(joined[node] for node in gone if node in joined):
            moved = [node for node in gone if joined.get(node) == pool]
            yield Consequence(
                f"{names_of(moved)} move{'s' if len(moved) == 1 else ''} from pool {change.name} to {pool}."
            )
        if after is None:
            for profile in new.profiles:
                if before.name in profile.pools:
                    left_over = [each for each in profile.pools if each in new.pools]
                    still = f"; it still lands on {names_of(left_over)}" if left_over else ""
                    yield Consequence(
                        f"Profile {profile.name} of {profile.hub} asks for pool {before.name}, which is removed{still}."
                    )


def _less_room(left: Sequence[str], before: Pool, after: Pool | None, old: Commons, new: Commons) -> Consequence:
    """How many GPUs are left, and who shares them."""
    leaves = f"{names_of(left)} {'leaves' if len(left) == 1 else 'leave'}"
    had, has = before.gpus or 0, (after.gpus or 0) if after else 0
    nodes = len(after.nodes) if after else 0
    room = f"{had:,} → {has:,} GPUs" if had else f"{len(before.nodes)} → {nodes} nodes"
    if (has, nodes) >= (had, len(before.nodes)):
        room = f"{leaves} pool {before.name}, which has as much room as before"
        return Consequence(f"{room}.", short=room, to_do=True)
    sharing = new.courses_of(
        each for each in (*old.profiles_on(before.name), *new.profiles_on(before.name)) if each.gpus or not had
    )
    shares = "; ".join(_share(course, old, new) for course in sharing)
    seats = sum(course.seats for course in sharing)
    return Consequence(
        f"{leaves} pool {before.name}: {room}."
        + (f" Whose share shrinks: {shares}." if shares else " No course of this stack uses the pool."),
        short=f"{leaves} {before.name}: {room}" + (f"; {counted(seats, 'seat')}" if seats else ""),
        to_do=True,
        is_heavy=True,
    )


def _share(course: Course, old: Commons, new: Commons) -> str:
    """`Deep learning (120 seats, 48 guaranteed GPUs): its pools have 104 GPUs instead of 112`."""
    promised = f", {counted(course.guaranteed, 'guaranteed GPU')}" if course.guaranteed else ""
    had, has = (_room(course, side) for side in (old, new))
    return (
        f"{course.title or course.name} ({counted(course.seats, 'seat')}{promised}): "
        f"its pools have {has:,} GPUs instead of {had:,}"
    )


def _room(course: Course, commons: Commons) -> int:
    """GPUs of the pools where its profiles with GPUs may land."""
    chosen = [
        each
        for each in commons.profiles
        if each.hub == course.hub and each.gpus and (not course.profiles or each.name in course.profiles)
    ]
    pools = {
        pool.name: pool.gpus or 0
        for pool in commons.pools.values()
        if any(lands_on(each, pool.name) for each in chosen)
    }
    return sum(pools.values())


def _out_of_pool(left: Sequence[str], before: Pool) -> Consequence:
    """A node without our taint is like any other node of the cluster."""
    one = len(left) == 1
    taint = " and the taint that kept other pods away" if before.gpus else ""
    return Consequence(
        f"{names_of(left)} {'loses' if one else 'lose'} the labels of pool {before.name}{taint}: what asks for the "
        "pool no longer starts there, but any other pod may. What runs there keeps running. To empty "
        f"{'it' if one else 'them'}: "
        f"kubectl drain {' '.join(left)}.",
        to_do=True,
    )


def _restarts(stream: Stream, new: Commons) -> Iterator[Consequence]:
    for step in sorted(stream.changed, key=lambda step: (step.type, step.name)):
        kind = step.type.rpartition(":")[2]
        if step.op not in {"update", "replace"} or kind not in _RESTARTING or not _restarts_pods(step):
            continue
        owner = step.parents.split("$")
        name = known_text(mapping((step.new or {}).get("metadata")).get("name")) or step.name
        if HUB in owner:
            yield _hub_restart(name, step.name.removesuffix(f"-{name}"), new)
        elif f"{OURS}NvidiaRuntime" in owner:
            yield Consequence(f"{name} restarts on every GPU node: running pods keep their GPUs; new ones wait for it.")
        elif f"{OURS}PrePuller" not in owner:
            space = known_text(mapping((step.new or {}).get("metadata")).get("namespace"))
            yield Consequence(f"{kind} {f'{space}/' if space else ''}{name} restarts its pods.")


def _restarts_pods(step: Step) -> bool:
    """Whether the pod template differs."""
    old, new = (mapping(mapping((inputs or {}).get("spec")).get("template")) for inputs in (step.old, step.new))
    return old != new or step.op == "replace"


def _hub_restart(name: str, hub: str, new: Commons) -> Consequence:
    number = sum(course.seats for course in new.courses if course.hub == hub)
    seats = f" ({counted(number, 'seat')})" if number else ""
    if name == "proxy":
        return Consequence(
            f"The proxy of hub {hub} restarts: open notebooks lose their connection until it is back.",
            short=f"open notebooks of {hub} lose their connection for a moment{seats}",
        )
    if name == "availability":
        return Consequence(f"The pages of hub {hub} briefly do not show how many GPUs are free.")
    return Consequence(
        f"The {name} pod of {hub} restarts: notebook sessions keep running, because they are pods of their own; "
        "nobody can log in or start a server until it is back.",
        short=f"nobody can log in at {hub} while it restarts{seats}",
    )


def _images(stream: Stream, changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    """A limit that somebody lifts changes no image."""
    built = {step.name for step in stream.changed if step.type == IMAGE}
    for change in changes:
        image = new.images.get(change.name) if change.kind == "image" and change.name in built else None
        if image is None or change.op == "delete":
            continue
        used = [profile for profile in new.profiles if image in new.started_by(profile)]
        if change.op != "create" and any(profile.image == image.name for profile in old.profiles):
            yield Consequence(
                f"Running sessions keep the old {image.label} until they are stopped; the next start uses the new one.",
                short=f"new servers get the new {image.label}{_who(used, new)}",
            )
        pools = list(dict.fromkeys(pool for profile in used for pool in profile.pools))
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


def _waits_for_nodes(early: Sequence[Cell], old: Commons, new: Commons) -> Iterator[Consequence]:
    """Images that somebody may start before the nodes have what the change declares."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in early:
        now = new.parts[cell.pool]
        missing = " and ".join(_declared(was_part(now, old) or now, now))
        groups.setdefault((cell.image, missing, cell.reason), []).append(cell)
    for (image, missing, reason), cells in groups.items():
        why = f" ({reason.rstrip('.')})" if reason else ""
        uses = sorted({use for cell in cells for use in cell.uses})
        yield Consequence(
            f"Before this update the nodes of {names_of([cell.pool for cell in cells])} need {missing}: until then "
            f"{image} does not run there{why}, and {names_of(uses)} will start it.",
            to_do=True,
            before_update=True,
        )


def _who(profiles: Sequence[Profile], commons: Commons) -> str:
    number = sum(course.seats for course in commons.courses_of(profiles))
    return f" ({counted(number, 'seat')})" if number else ""


def _declared(old: Pool, new: Pool) -> Iterator[str]:
    """What nodes have to get."""
    for word, before, after in (
        ("", old.gpu, new.gpu),
        ("driver ", old.driver, new.driver),
        ("container toolkit ", old.toolkit, new.toolkit),
    ):
        if before != after:
            yield f"{word}{after}"


def _gone_hubs(changes: Sequence[Change], old: Commons) -> Iterator[Consequence]:
    for change in changes:
        if change.kind == "hub" and change.op == "delete":
            yield Consequence(
                f"Hub {change.name} is removed: nobody can reach a notebook through it any more. Its namespace stays, "
                "with homes, the hub's database and running servers.",
                short=f"hub {change.name} is removed"
                + _who([each for each in old.profiles if each.hub == change.name], old),
                is_heavy=True,
            )


def _jobs(changes: Sequence[Change]) -> Iterator[Consequence]:
    for change in changes:
        if change.kind == "job" and change.op in {"update", "replace"}:
            yield Consequence(
                f"Job {change.name} is replaced: a run in progress ends, and it starts from the beginning.",
                short=f"job {change.name} starts from the beginning",
            )
