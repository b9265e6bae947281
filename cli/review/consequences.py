"""Whom a change affects, and what they will notice: drains, rolling instances, restarts, ended sessions, slow pulls.

The sentences are in consequences.toml: facts that follow from the stack, and assumptions on how a site works.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from cli.engine_events import Step, Stream
from cli.engine_values import grouped, known_text, mapping, names_of, texts, whole
from cli.review.cells import Cell, hardware, was_part
from cli.review.commons import Commons, Course, Pool, Workload, pool_name
from cli.review.details import Affected, Change
from cli.words import counted
from platforms.docker.container import CONTAINER_TOKEN

_CHANGED: Final = {"update", "replace"}


@dataclass(frozen=True, slots=True)
class Consequence:
    """What people will notice. `known` follows from the stack; `assumed` from how sites usually work."""

    known: str
    assumed: str = ""
    short: str = ""  # for the headline; empty if others say enough
    to_do: bool = False  # somebody has to act
    before_update: bool = False  # and has to act first
    is_heavy: bool = False  # sessions end, or people lose what they had


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
        # An engine registers resources in any order.
        jobs=tuple(sorted({each.name for each in workloads if not each.hub})),
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


def consequences(
    stream: Stream, changes: Sequence[Change], old: Commons, new: Commons, early: Sequence[Cell]
) -> tuple[Consequence, ...]:
    """What people will notice, worst first: drains, removed nodes and hubs, restarts, pulls."""
    groups = {pool_name(step.name, step.inputs) for step in stream.steps.values() if step.token in _GROUPS}
    pools = [change for change in changes if change.kind == "pool"]
    machines = [change for change in pools if change.name not in groups]
    # An update that brings a driver to instances waits for nobody.
    early = [cell for cell in early if (new.parts[cell.pool].whole or cell.pool) not in groups]
    found = (
        *_waits_for_nodes(early, old, new),
        *_rolls(stream),
        *_drains([each for each in machines if each.op in _CHANGED], old, new, early),
        *_drifted(stream, machines),
        *_taints(pools, old, new),
        *_lost_nodes(machines, old, new),
        *_gone_hubs(changes, old),
        *_restarts(stream, new),
        *_containers(stream, new),
        *_images(stream, changes, old, new),
        *(
            _told("starts_again", kind="Job", low="job", name=each.name)
            for each in changes
            if each.kind == "job" and each.op in _CHANGED
        ),
    )
    return tuple(dict.fromkeys(found))


@cache
def _sentences() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_name("consequences.toml").read_text(encoding="utf-8"))


def _told(_sentence: str, **values: object) -> Consequence:
    """One of the sentences, with these values."""
    row = dict(_sentences()[_sentence])
    row |= {key: text.format(**values) for key, text in row.items() if isinstance(text, str)}
    return Consequence(**row)


def seats_text(number: int, before: str = " (", after: str = ")") -> str:
    """` (300 seats)`; empty if there are none."""
    return f"{before}{counted(number, 'seat')}{after}" if number else ""


# --- drivers and container toolkits

# Inputs about what somebody installs on nodes: of a GpuNodePool, and of a recorded pool of a stack file.
_DRIVER: Final = (("driver_version",), ("driver",))
_INSTALLED: Final = {
    **dict.fromkeys(_DRIVER, "driver"),
    **dict.fromkeys((("container_toolkit_version",), ("container_toolkit",)), "container toolkit"),
}


def _waits_for_nodes(early: Sequence[Cell], old: Commons, new: Commons) -> Iterator[Consequence]:
    """Images that somebody may start before the nodes have what the change declares."""

    def missing_on(part: Pool) -> str:
        was = hardware(was_part(part, old) or part)
        facts = zip(("", "driver ", "container toolkit "), was, hardware(part), strict=True)
        return " and ".join(f"{what}{after}" for what, before, after in facts if before != after)

    groups = grouped(((cell.image, missing_on(new.parts[cell.pool]), cell.reason), cell) for cell in early)
    for (image, missing, reason), cells in groups.items():
        why = f" ({reason.rstrip('.')})" if reason else ""
        pools, uses = [cell.pool for cell in cells], sorted({use for cell in cells for use in cell.uses})
        words = {"pools": names_of(pools), "uses": names_of(uses)}
        yield _told("nodes_first", missing=missing, image=image, why=why, **words)


def _drains(pool_changes: Sequence[Change], old: Commons, new: Commons, early: Sequence[Cell]) -> Iterator[Consequence]:
    """Nodes that need another driver or container toolkit."""
    changes = [each for each in pool_changes if [*_installed(each)]]
    if not changes:
        return
    pools = [_moved(change, old, new) for change in changes]
    names = [node for pool in pools for node in pool.nodes]
    nodes, gpus = counted(len(names), "node"), sum(pool.gpus or 0 for pool in pools)
    sessions = sum(_sessions(pool, new) for pool in pools)
    is_first = any(new.parts[cell.pool].whole in {pool.name for pool in pools} for cell in early)
    is_labelled = not all(pool.runtime == "apptainer" or pool.is_host for pool in pools)
    yield _told(
        "installation",
        changed="labels" if is_labelled else "what images are proved for",
        versions=" and ".join(dict.fromkeys(word for change in changes for word in _installed(change))),
        nodes=nodes,
        names=names_of(names),
        gpus=gpus,
        room=f"up to {sessions:,} sessions with a GPU fit there; " if sessions else "",
        what=f"{counted(gpus, 'GPU')} in {nodes}" if gpus else nodes,
        restart="restarts" if (gpus or len(names)) == 1 else "restart",
        seats=seats_text(new.seats_of(each for pool in pools for each in new.profiles_on(pool.name)), "; ", ""),
        first=" first" if is_first else "",
    )


def _installed(change: Change) -> Iterator[str]:
    """`driver 580.95.05`, of the pool or of some of its nodes."""
    return (f"{_INSTALLED[each.loc]} {each.after}" for each in change.details if each.loc in _INSTALLED and each.after)


def _moved(change: Change, old: Commons, new: Commons) -> Pool:
    """The pool's nodes that need work; all of them if their former state is unknown."""
    before = old.pools.get(change.name)
    pool = new.pools.get(change.name) or before or Pool(change.name)
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


def _drifted(stream: Stream, changes: Sequence[Change]) -> Iterator[Consequence]:
    """Nodes that do not report the declared driver, in pools whose driver this change leaves alone."""
    changed = {change.name for change in changes if any(each.loc in _DRIVER and each.after for each in change.details)}
    for pool, names in sorted(mapping(stream.new_outputs.get("drifted_nodes")).items()):
        if (nodes := texts(names)) and pool not in changed:
            s = "s" if len(nodes) == 1 else ""
            words = {"nodes": counted(len(nodes), "node"), "report": f"report{s}", "wait": f"wait{s}"}
            yield _told("drift", names=names_of(nodes), pool=pool, **words)


# --- instances that an AWS update replaces

# Inputs below a group's component that start other instances. EKS also replaces nodes for a version alone.
_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_VERSIONS: Final = ("releaseVersion", "version", "amiType")
_GROUPS: Final = {"EksGpuNodeGroup", "FlatcarGpuNodeGroup"}


def _rolls(stream: Stream) -> Iterator[Consequence]:
    """One for each pool whose instances are replaced or end."""
    moved = {step.name for step in stream.changed if _starts_others(step)}
    for step in sorted((step for step in stream.changed if step.token in _GROUPS), key=lambda step: step.name):
        pool = pool_name(step.name, step.inputs)
        if step.new is None:
            yield _told("instances_end", pool=pool)
        elif step.old is not None and step.name in moved:
            before, after = (known_text(side.get("driver_version")) for side in (step.old, step.new))
            yield _told(
                f"rolls_{step.token}",
                pool=pool,
                number=whole(step.new.get("max_unavailable")) or 1,
                most=counted(whole(step.new.get("max")) or 0, "instance"),
                types=" or ".join(texts(step.new.get("instance_types"))),
                gets=f" with driver {after}" if after and before != after else "",
            )


def _starts_others(step: Step) -> bool:
    """A group's resource that defines how an instance starts."""
    if step.op not in _CHANGED or not {*step.owners} & _GROUPS:
        return False
    old, new = step.old or {}, step.new or {}
    is_other = step.op == "replace" or any(old.get(key) != new.get(key) for key in _VERSIONS)
    return step.type == _TEMPLATE or (step.type == _NODE_GROUP and is_other)


# --- taints, and nodes that leave a pool


def _taints(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    """As Kubernetes treats pods without a toleration."""
    for change in changes:
        before, after = old.pools.get(change.name), new.pools.get(change.name)
        for taint in after.taints if before and after else ():
            effect = taint.rpartition(":")[2]
            if before and after and taint not in before.taints and effect in {"NoExecute", "NoSchedule"}:
                where = f"on the {counted(len(after.nodes), 'node')} of {change.name}"
                yield _told(f"taint_{effect}", taint=taint, where=where)


def _lost_nodes(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    """Nodes that leave a pool, for another one or for none."""
    joined = {node: pool.name for pool in new.pools.values() for node in pool.nodes}
    for change in changes:
        before, after = old.pools.get(change.name), new.pools.get(change.name)
        if before is None:
            continue
        gone = [node for node in before.nodes if after is None or node not in after.nodes]
        if left := [node for node in gone if node not in joined]:
            yield _less_room(left, before, after, old, new)
            lose, it = ("loses", "it") if len(left) == 1 else ("lose", "them")
            taint = " and the taint that kept other pods away" if before.gpus else ""
            words = {"names": names_of(left), "lose": lose, "it": it, "nodes": " ".join(left)}
            yield _told("out_of_pool", pool=before.name, taint=taint, **words)
        for other, moved in grouped((joined[node], node) for node in gone if node in joined).items():
            move = "moves" if len(moved) == 1 else "move"
            yield _told("nodes_move", names=names_of(moved), move=move, pool=change.name, other=other)
        for profile in new.profiles if after is None else ():
            if before.name in profile.pools:
                left_over = [each for each in profile.pools if each in new.pools]
                still = f"; it still lands on {names_of(left_over)}" if left_over else ""
                yield _told("pool_is_gone", profile=profile.name, hub=profile.hub, pool=before.name, still=still)


def _less_room(left: Sequence[str], before: Pool, after: Pool | None, old: Commons, new: Commons) -> Consequence:
    """How many GPUs are left, and who shares them."""
    had, has = before.gpus or 0, (after.gpus or 0) if after else 0
    nodes = len(after.nodes) if after else 0
    words = {"names": names_of(left), "leave": "leaves" if len(left) == 1 else "leave", "pool": before.name}
    if (has, nodes) >= (had, len(before.nodes)):
        return _told("same_room", **words)
    sharing = new.courses_of(
        each for each in (*old.profiles_on(before.name), *new.profiles_on(before.name)) if each.gpus or not had
    )
    shares = "; ".join(_share(course, old, new) for course in sharing)
    return _told(
        "less_room",
        room=f"{had:,} → {has:,} GPUs" if had else f"{len(before.nodes)} → {nodes} nodes",
        shares=f"Whose share shrinks: {shares}" if shares else "No course of this stack uses the pool",
        seats=seats_text(sum(course.seats for course in sharing), "; ", ""),
        **words,
    )


def _share(course: Course, old: Commons, new: Commons) -> str:
    """`Deep learning (120 seats, 48 guaranteed GPUs): its pools have 104 GPUs instead of 112`"""
    promised = f", {counted(course.guaranteed, 'guaranteed GPU')}" if course.guaranteed else ""
    had, has = (
        sum(
            pool.gpus or 0
            for pool in side.pools.values()
            if any(each.gpus and course.chooses(each) for each in side.profiles_on(pool.name))
        )
        for side in (old, new)
    )
    return f"{course.title} ({counted(course.seats, 'seat')}{promised}): its pools have {has:,} GPUs instead of {had:,}"


# --- hubs, containers and images


def _gone_hubs(changes: Sequence[Change], old: Commons) -> Iterator[Consequence]:
    for change in (each for each in changes if each.kind == "hub"):
        seats = seats_text(old.seats_of(each for each in old.profiles if each.hub == change.name))
        exports = [each.loc for each in change.details if each.loc[:3] == ("storage", "homes", "nfs")]
        if change.op == "delete":
            yield _told("hub_is_gone", hub=change.name, seats=seats)
        elif change.op in _CHANGED and any(loc[3:4] != ("options",) for loc in exports):
            yield _told("homes_elsewhere", hub=change.name, seats=seats)


def _restarts(stream: Stream, new: Commons) -> Iterator[Consequence]:
    """Controllers whose pod template differs."""
    for step in sorted(stream.changed, key=lambda step: (step.type, step.name)):
        if step.op not in _CHANGED or step.token not in {"StatefulSet", "Deployment", "DaemonSet"}:
            continue
        old_pods, pods = (mapping(mapping((side or {}).get("spec")).get("template")) for side in (step.old, step.new))
        if old_pods == pods and step.op != "replace":
            continue
        metadata = mapping((step.new or {}).get("metadata"))
        name = known_text(metadata.get("name")) or step.name
        if "NotebookHub" in step.owners:
            yield _hub_restart(name, step.name.removesuffix(f"-{name}"), new, what="pod")
        elif "NvidiaRuntime" in step.owners:
            yield _told("runtime_restarts", name=name)
        elif "PrePuller" not in step.owners:
            full = "/".join(filter(None, (known_text(metadata.get("namespace")), name)))
            yield _told("pods_restart", kind=step.token, name=full)


def _containers(stream: Stream, new: Commons) -> Iterator[Consequence]:
    """Containers on Docker hosts: none can be changed in place, so each change ends what runs in it."""
    for step in sorted(stream.changed, key=lambda step: step.name):
        if step.type != CONTAINER_TOKEN or step.op != "replace":
            continue
        name = known_text((step.new or {}).get("name")) or known_text((step.old or {}).get("name")) or step.name
        if "DockerHub" in step.owners:
            hub, _, part = name.rpartition("-")
            if part in {"hub", "proxy"}:
                yield _hub_restart(part, hub, new, what="container")
            elif part == "engine":
                yield _told("filter_restarts", hub=hub)
        elif (step.old or {}).get("mustRun") is False:
            yield _told("starts_again", kind="Container", low="container", name=name)
        else:
            yield _told("container_restarts", name=name)


def _hub_restart(part: str, hub: str, new: Commons, *, what: str) -> Consequence:
    seats = seats_text(sum(course.seats for course in new.courses if course.hub == hub))
    sentence = f"{part}_restarts" if part in {"proxy", "availability"} else "hub_restarts"
    return _told(sentence, part=part, what=what, hub=hub, seats=seats)


def _images(stream: Stream, changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    """Lifting a limit changes no image."""
    built = {step.name for step in stream.changed if step.kind == "image"}
    for change in changes:
        image = new.images.get(change.name) if change.kind == "image" and change.name in built else None
        if image is None or change.op == "delete":
            continue
        used = [profile for profile in new.profiles if image in new.started_by(profile)]
        if change.op != "create" and any(profile.image == image.name for profile in old.profiles):
            yield _told("new_image", image=image.label, seats=seats_text(new.seats_of(used)))
        pools = [name for name in dict.fromkeys(pool for each in used for pool in each.pools) if name in new.pools]
        size = f" ({image.size:,.0f} MB)" if image.size and old.images.get(image.name) == image else ""
        for sentence, is_pulled in (("pulled", True), ("waits_for_pull", False)):
            if named := [name for name in pools if ((name, image.name) in new.pulled) is is_pulled]:
                nodes = counted(sum(len(new.pools[name].nodes) for name in named), "node")
                yield _told(sentence, where=f"{nodes} of {', '.join(named)}", image=image.label, size=size)
