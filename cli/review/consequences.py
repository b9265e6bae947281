"""What people will notice of a change: drains, rolling instances, restarts, ended sessions, slow pulls.

Facts follow from the stack. Whatever depends on how a site works is marked as an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from cli.review.cells import Cell, hardware, was_part
from cli.review.commons import (
    DOCKER_HUB,
    EKS_GROUP,
    FLATCAR_GROUP,
    GROUPS,
    HUB,
    IMAGE,
    PULLER,
    RUNTIME,
    Commons,
    Course,
    Pool,
    pool_name,
)
from cli.review.details import Change
from cli.review.stream import Step, Stream
from cli.review.values import known_text, mapping, names_of, texts, whole
from cli.words import counted
from platforms.docker.container import CONTAINER_TOKEN


@dataclass(frozen=True, slots=True)
class Consequence:
    """What people will notice. `known` follows from the stack; `assumed` from how sites usually work."""

    known: str
    assumed: str = ""
    short: str = ""  # for the headline; empty if others say enough
    to_do: bool = False  # somebody has to act
    before_update: bool = False  # and has to act first
    is_heavy: bool = False  # sessions end, or people lose what they had


def consequences(
    stream: Stream, changes: Sequence[Change], old: Commons, new: Commons, early: Sequence[Cell]
) -> tuple[Consequence, ...]:
    """What people will notice, worst first: drains, removed nodes and hubs, restarts, pulls."""
    groups = {pool_name(step.name, step.new or step.old or {}) for step in stream.steps.values() if step.type in GROUPS}
    pools = [change for change in changes if change.kind == "pool"]
    machines = [change for change in pools if change.name not in groups]
    # An update that brings a driver to instances waits for nobody.
    early = [cell for cell in early if (new.parts[cell.pool].whole or cell.pool) not in groups]
    found = (
        *_waits_for_nodes(early, old, new),
        *_rolls(stream),
        *_drains([each for each in machines if each.op in {"update", "replace"}], old, new, early),
        *_drifted(stream, machines),
        *_taints(pools, old, new),
        *_lost_nodes(machines, old, new),
        *_gone_hubs(changes, old),
        *_restarts(stream, new),
        *_containers(stream, new),
        *_images(stream, changes, old, new),
        *_jobs(changes),
    )
    return tuple(dict.fromkeys(found))


def seats_text(number: int) -> str:
    """` (300 seats)`; empty if there are none."""
    return f" ({counted(number, 'seat')})" if number else ""


# --- drivers and container toolkits

# Inputs about what somebody installs on nodes: of a GpuNodePool, and of a recorded pool of a stack file.
_DRIVER: Final = (("driver_version",), ("driver",))
_INSTALLED: Final = {
    **dict.fromkeys(_DRIVER, "driver"),
    **dict.fromkeys((("container_toolkit_version",), ("container_toolkit",)), "container toolkit"),
}


def _waits_for_nodes(early: Sequence[Cell], old: Commons, new: Commons) -> Iterator[Consequence]:
    """Images that somebody may start before the nodes have what the change declares."""
    groups: dict[tuple[str, str, str], list[Cell]] = {}
    for cell in early:
        now = new.parts[cell.pool]
        was = was_part(now, old) or now
        facts = zip(("", "driver ", "container toolkit "), hardware(was), hardware(now), strict=True)
        missing = " and ".join(f"{what}{after}" for what, before, after in facts if before != after)
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


def _drains(pool_changes: Sequence[Change], old: Commons, new: Commons, early: Sequence[Cell]) -> Iterator[Consequence]:
    """Nodes that need another driver or container toolkit."""
    changes = [each for each in pool_changes if [*_installed(each)]]
    if not changes:
        return
    pools = [_moved(change, old, new) for change in changes]
    names = [node for pool in pools for node in pool.nodes]
    nodes, gpus = counted(len(names), "node"), sum(pool.gpus or 0 for pool in pools)
    versions = " and ".join(dict.fromkeys(word for change in changes for word in _installed(change)))
    sessions = sum(_sessions(pool, new) for pool in pools)
    room = f"up to {sessions:,} sessions with a GPU fit there; " if sessions else ""
    is_first = any(new.parts[cell.pool].whole in {pool.name for pool in pools} for cell in early)
    is_labelled = not all(pool.runtime == "apptainer" or pool.is_host for pool in pools)
    what = f"{counted(gpus, 'GPU')} in {nodes}" if gpus else nodes
    number = new.seats_of(profile for pool in pools for profile in new.profiles_on(pool.name))
    seats = f"; {counted(number, 'seat')}" if number else ""
    yield Consequence(
        known=f"This update changes {'labels' if is_labelled else 'what images are proved for'}: it installs nothing "
        f"on a node, drains none and ends no session. Somebody at the site has yet to install {versions} on {nodes} "
        f"({gpus:,} GPUs).",
        assumed=f"that needs an empty node, so sessions and jobs on {names_of(names)} end as each one drains; {room}"
        "a preview cannot know how many are running.",
        short=f"{what} {'restarts' if (gpus or len(names)) == 1 else 'restart'}{seats}; "
        f"install {versions}{' first' if is_first else ''}",
        to_do=True,
        is_heavy=True,
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
            reports, waits = ("reports", "waits") if len(nodes) == 1 else ("report", "wait")
            yield Consequence(
                f"{names_of(nodes)} of pool {pool} still {reports} another driver than the declared one: somebody has "
                "yet to install it.",
                short=f"{counted(len(nodes), 'node')} of {pool} still {waits} for the declared driver",
                to_do=True,
            )


# --- instances that an AWS update replaces

# Inputs below a group's component that start other instances. EKS also replaces nodes for a version alone.
_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"
_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_VERSIONS: Final = ("releaseVersion", "version", "amiType")
_HOW: Final = {
    # https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
    EKS_GROUP: "EKS drains {number} of its instances at a time and ends each when a new one is ready",
    # https://docs.aws.amazon.com/autoscaling/ec2/userguide/instance-refresh-overview.html
    FLATCAR_GROUP: "an instance refresh ends {number} of its instances at a time without draining them, and pods get "
    "two minutes",
}


def _rolls(stream: Stream) -> Iterator[Consequence]:
    """One for each pool whose instances are replaced or end."""
    moved = {step.name for step in stream.changed if _starts_others(step)}
    for step in sorted((step for step in stream.changed if step.type in GROUPS), key=lambda step: step.name):
        name = pool_name(step.name, step.new or step.old or {})
        if step.new is None:
            yield Consequence(
                f"The instances of pool {name} end, and with them the sessions and jobs that run there.",
                short=f"pool {name} is removed with its instances",
                is_heavy=True,
            )
        elif step.old is not None and step.name in moved:
            how = _HOW[step.type].format(number=whole(step.new.get("max_unavailable")) or 1)
            before, after = (known_text(side.get("driver_version")) for side in (step.old, step.new))
            gets = f" with driver {after}" if after and before != after else ""
            most = counted(whole(step.new.get("max")) or 0, "instance")
            types = " or ".join(texts(step.new.get("instance_types")))
            yield Consequence(
                f"Pool {name} rolls: {how}. Sessions and jobs on it end; a preview cannot know how many are running.",
                short=f"pool {name} rolls: up to {most} of {types} replaced{gets}",
                is_heavy=True,
            )


def _starts_others(step: Step) -> bool:
    """A group's resource that defines how an instance starts."""
    if step.op not in {"update", "replace"} or not any(kind in step.parents.split("$") for kind in GROUPS):
        return False
    old, new = step.old or {}, step.new or {}
    return step.type == _TEMPLATE or (
        step.type == _NODE_GROUP and (step.op == "replace" or any(old.get(key) != new.get(key) for key in _VERSIONS))
    )


# --- taints, and nodes that leave a pool


def _taints(changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
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
            yield _out_of_pool(left, before)
        for pool in dict.fromkeys(joined[node] for node in gone if node in joined):
            moved = [node for node in gone if joined.get(node) == pool]
            yield Consequence(
                f"{names_of(moved)} move{'s' if len(moved) == 1 else ''} from pool {change.name} to {pool}."
            )
        for profile in new.profiles if after is None else ():
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
    """`Deep learning (120 seats, 48 guaranteed GPUs): its pools have 104 GPUs instead of 112`"""
    promised = f", {counted(course.guaranteed, 'guaranteed GPU')}" if course.guaranteed else ""
    had, has = (_room(course, side) for side in (old, new))
    return f"{course.title} ({counted(course.seats, 'seat')}{promised}): its pools have {has:,} GPUs instead of {had:,}"


def _room(course: Course, commons: Commons) -> int:
    """GPUs of the pools where its GPU profiles may land."""
    chosen = [each for each in commons.profiles if each.gpus and course.chooses(each)]
    return sum(pool.gpus or 0 for pool in commons.pools.values() if any(each.lands_on(pool.name) for each in chosen))


def _out_of_pool(left: Sequence[str], before: Pool) -> Consequence:
    """A node without our taint is like any other node of the cluster."""
    loses, it = ("loses", "it") if len(left) == 1 else ("lose", "them")
    taint = " and the taint that kept other pods away" if before.gpus else ""
    return Consequence(
        f"{names_of(left)} {loses} the labels of pool {before.name}{taint}: what asks for the pool no longer starts "
        "there, but any other pod may. What runs there keeps running. "
        f"To empty {it}: kubectl drain {' '.join(left)}.",
        to_do=True,
    )


# --- hubs, jobs and containers


def _gone_hubs(changes: Sequence[Change], old: Commons) -> Iterator[Consequence]:
    for change in changes:
        if change.kind == "hub" and change.op == "delete":
            seats = seats_text(old.seats_of(each for each in old.profiles if each.hub == change.name))
            yield Consequence(
                f"Hub {change.name} is removed: nobody can reach a notebook through it any more, and its servers "
                "end. Homes and the hub's database stay.",
                short=f"hub {change.name} is removed{seats}",
                is_heavy=True,
            )


def _restarts(stream: Stream, new: Commons) -> Iterator[Consequence]:
    """Controllers whose pod template differs."""
    for step in sorted(stream.changed, key=lambda step: (step.type, step.name)):
        kind = step.type.rpartition(":")[2]
        if step.op not in {"update", "replace"} or kind not in {"StatefulSet", "Deployment", "DaemonSet"}:
            continue
        old_pods, pods = (mapping((inputs or {}).get("spec")).get("template") for inputs in (step.old, step.new))
        if mapping(old_pods) == mapping(pods) and step.op != "replace":
            continue
        owner, metadata = step.parents.split("$"), mapping((step.new or {}).get("metadata"))
        name = known_text(metadata.get("name")) or step.name
        if HUB in owner:
            yield _hub_restart(name, step.name.removesuffix(f"-{name}"), new)
        elif RUNTIME in owner:
            yield Consequence(f"{name} restarts on every GPU node: running pods keep their GPUs; new ones wait for it.")
        elif PULLER not in owner:
            space = known_text(metadata.get("namespace"))
            yield Consequence(f"{kind} {f'{space}/' if space else ''}{name} restarts its pods.")


def _containers(stream: Stream, new: Commons) -> Iterator[Consequence]:
    """Containers on Docker hosts: none can be changed in place, so each change ends what runs in it."""
    for step in sorted(stream.changed, key=lambda step: step.name):
        if step.type != CONTAINER_TOKEN or step.op != "replace":
            continue
        name = known_text((step.new or {}).get("name")) or known_text((step.old or {}).get("name")) or step.name
        if DOCKER_HUB in step.parents.split("$"):
            hub, _, part = name.rpartition("-")
            if part in {"hub", "proxy"}:
                yield _hub_restart(part, hub, new, what="container")
            elif part == "engine":
                yield Consequence(
                    f"The filter of hub {hub} restarts: notebook sessions keep running; no server and no kernel can "
                    "start until it is back."
                )
        elif (step.old or {}).get("mustRun") is False:
            yield _starts_again("Container", name)
        else:
            yield Consequence(
                f"Container {name} is replaced: what runs in it ends, and files outside its volumes and folders go.",
                short=f"container {name} restarts",
            )


def _starts_again(kind: str, name: str) -> Consequence:
    return Consequence(
        f"{kind} {name} is replaced: a run in progress ends, and it starts from the beginning.",
        short=f"{kind.lower()} {name} starts from the beginning",
    )


def _jobs(changes: Sequence[Change]) -> Iterator[Consequence]:
    for change in changes:
        if change.kind == "job" and change.op in {"update", "replace"}:
            yield _starts_again("Job", change.name)


def _hub_restart(name: str, hub: str, new: Commons, *, what: str = "pod") -> Consequence:
    seats = seats_text(sum(course.seats for course in new.courses if course.hub == hub))
    if name == "proxy":
        return Consequence(
            f"The proxy of hub {hub} restarts: open notebooks lose their connection until it is back.",
            short=f"open notebooks of {hub} lose their connection for a moment{seats}",
        )
    if name == "availability":
        return Consequence(f"The pages of hub {hub} briefly do not show how many GPUs are free.")
    return Consequence(
        f"The {name} {what} of {hub} restarts: notebook sessions keep running, because they are {what}s of their own; "
        "nobody can log in or start a server until it is back.",
        short=f"nobody can log in at {hub} while it restarts{seats}",
    )


# --- images


def _images(stream: Stream, changes: Sequence[Change], old: Commons, new: Commons) -> Iterator[Consequence]:
    """Lifting a limit changes no image."""
    built = {step.name for step in stream.changed if step.type == IMAGE}
    for change in changes:
        image = new.images.get(change.name) if change.kind == "image" and change.name in built else None
        if image is None or change.op == "delete":
            continue
        used = [profile for profile in new.profiles if image in new.started_by(profile)]
        if change.op != "create" and any(profile.image == image.name for profile in old.profiles):
            yield Consequence(
                f"Running sessions keep the old {image.label} until they are stopped; the next start uses the new one.",
                short=f"new servers get the new {image.label}{seats_text(new.seats_of(used))}",
            )
        pools = [name for name in dict.fromkeys(pool for each in used for pool in each.pools) if name in new.pools]
        size = f" ({image.size:,.0f} MB)" if image.size and old.images.get(image.name) == image else ""
        for is_pulled in (True, False):
            named = [name for name in pools if ((name, image.name) in new.pulled) is is_pulled]
            where = f"{counted(sum(len(new.pools[name].nodes) for name in named), 'node')} of {', '.join(named)}"
            if named and is_pulled:
                yield Consequence(f"{where} pull {image.label}{size} ahead of time.")
            elif named:
                yield Consequence(f"The first session on each of {where} waits for the pull of {image.label}{size}.")
