"""What people will notice of changes to nodes: drains, driver installations, taints, nodes that leave a pool."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from cli.review.affected import pool_of
from cli.review.cells import Cell, was_part
from cli.review.commons import Commons, Course, Pool, lands_on
from cli.review.consequence import Consequence
from cli.review.details import Change
from cli.review.stream import Stream
from cli.review.values import mapping, names_of, texts
from cli.words import counted

# Inputs about what somebody installs on nodes: of a GpuNodePool, and of a recorded pool of a stack file.
_DRIVER: Final = (("driver_version",), ("driver",))
_INSTALLED: Final = {
    **dict.fromkeys(_DRIVER, "driver"),
    **dict.fromkeys((("container_toolkit_version",), ("container_toolkit",)), "container toolkit"),
}


def waits_for_nodes(early: Sequence[Cell], old: Commons, new: Commons) -> Iterator[Consequence]:
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


def _declared(old: Pool, new: Pool) -> Iterator[str]:
    """What people have to install on nodes."""
    for word, before, after in (
        ("", old.gpu, new.gpu),
        ("driver ", old.driver, new.driver),
        ("container toolkit ", old.toolkit, new.toolkit),
    ):
        if before != after:
            yield f"{word}{after}"


def drains(pool_changes: Sequence[Change], old: Commons, new: Commons, early: Sequence[Cell]) -> Iterator[Consequence]:
    """Nodes that need another driver or container toolkit."""
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
    is_labelled = not all(pool.runtime == "apptainer" or pool.is_host for pool in pools)
    what_it_changes = "labels" if is_labelled else "what images are proved for"
    what = f"{counted(gpus, 'GPU')} in {counted(len(nodes), 'node')}" if gpus else counted(len(nodes), "node")
    seats = _seats(pools, new)
    yield Consequence(
        known=f"This update changes {what_it_changes}: it installs nothing on a node, drains none and ends no session. "
        "Somebody at "
        f"the site has yet to install {versions} on {counted(len(nodes), 'node')} ({gpus:,} GPUs).",
        assumed=f"that needs an empty node, so sessions and jobs on {names_of(nodes)} end as each one drains; {room}"
        "a preview cannot know how many are running.",
        short=f"{what} {'restarts' if gpus == 1 or (not gpus and len(nodes) == 1) else 'restart'}"
        f"{f'; {seats}' if seats else ''}; install {versions}{' first' if is_first else ''}",
        to_do=True,
        is_heavy=True,
    )


def _seats(pools: Sequence[Pool], commons: Commons) -> str:
    """`300 seats` of the courses whose people may start a server on one of them; empty if there are none."""
    courses = commons.courses_of(profile for pool in pools for profile in commons.profiles_on(pool.name))
    number = sum(course.seats for course in courses)
    return counted(number, "seat") if number else ""


def drifted(stream: Stream, changes: Sequence[Change]) -> Iterator[Consequence]:
    """Nodes that do not report the declared driver, in pools whose driver this change leaves alone."""
    changed = {change.name for change in changes if any(each.loc in _DRIVER and each.after for each in change.details)}
    for pool, names in sorted(mapping(stream.new_outputs.get("drifted_nodes")).items()):
        if (nodes := texts(names)) and pool not in changed:
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
    """The pool's nodes that need work; all of them if their former state is unknown."""
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
    """The most sessions that the GPUs have room for: each profile requests at least one."""
    requested = [profile.gpus for profile in commons.profiles_on(pool.name) if profile.gpus]
    return (pool.gpus_per_node or 0) // min(requested) * len(pool.nodes) if requested else 0


def taints(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    """As Kubernetes treats pods without a toleration."""
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


def lost_nodes(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    """Nodes that leave a pool, for another one or for none."""
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
    """GPUs of the pools where its GPU profiles may land."""
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
