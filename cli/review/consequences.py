"""What people will notice of a change: to nodes, restarts, ended sessions, slow pulls.

Facts follow from the stack. Whatever depends on how a site works is marked as an assumption.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cli.review.cells import Cell
from cli.review.commons import Commons, Profile
from cli.review.consequence import Consequence
from cli.review.details import Change
from cli.review.node_consequences import drains, drifted, lost_nodes, taints, waits_for_nodes
from cli.review.recorded import HUB, IMAGE, OURS
from cli.review.rolling import groups, rolls
from cli.review.stream import Step, Stream
from cli.review.values import known_text, mapping
from cli.words import counted
from platforms.docker.container import CONTAINER_TOKEN

_RESTARTING: Final = {"StatefulSet", "Deployment", "DaemonSet"}


def consequences(
    stream: Stream, changes: Sequence[Change], old: Commons, new: Commons, early: Sequence[Cell]
) -> tuple[Consequence, ...]:
    """What people will notice, worst first: drains, removed nodes and hubs, restarts, pulls."""
    instances = groups(stream)
    pools = [change for change in changes if change.kind == "pool"]
    machines = [change for change in pools if change.name not in instances]
    # An update that brings a driver to instances waits for nobody.
    early = [cell for cell in early if (new.parts[cell.pool].whole or cell.pool) not in instances]
    return (
        *waits_for_nodes(early, old, new),
        *rolls(stream),
        *drains([each for each in machines if each.op in {"update", "replace"}], old, new, early),
        *drifted(stream, machines),
        *taints(pools, old, new),
        *lost_nodes(machines, old, new),
        *_gone_hubs(changes, old),
        *_restarts(stream, new),
        *_containers(stream, new),
        *_images(stream, changes, old, new),
        *_jobs(changes),
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


def _containers(stream: Stream, new: Commons) -> Iterator[Consequence]:
    """Containers on Docker hosts: none can be changed in place, so each change ends what runs in it."""
    for step in sorted(stream.changed, key=lambda step: step.name):
        if step.type != CONTAINER_TOKEN or step.op != "replace":
            continue
        name = known_text((step.new or {}).get("name")) or known_text((step.old or {}).get("name")) or step.name
        if f"{OURS}DockerHub" in step.parents.split("$"):
            hub, _, part = name.rpartition("-")
            if part in {"hub", "proxy"}:
                yield _hub_restart(part, hub, new, what="container")
            elif part == "engine":
                yield Consequence(
                    f"The filter of hub {hub} restarts: notebook sessions keep running; no server and no kernel can "
                    "start until it is back."
                )
        elif (step.old or {}).get("mustRun") is False:
            yield Consequence(
                f"Container {name} is replaced: a run in progress ends, and it starts from the beginning.",
                short=f"container {name} starts from the beginning",
            )
        else:
            yield Consequence(
                f"Container {name} is replaced: what runs in it ends, and files outside its volumes and folders go.",
                short=f"container {name} restarts",
            )


def _hub_restart(name: str, hub: str, new: Commons, *, what: str = "pod") -> Consequence:
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
        f"The {name} {what} of {hub} restarts: notebook sessions keep running, because they are {what}s of their own; "
        "nobody can log in or start a server until it is back.",
        short=f"nobody can log in at {hub} while it restarts{seats}",
    )


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


def _who(profiles: Sequence[Profile], commons: Commons) -> str:
    number = sum(course.seats for course in commons.courses_of(profiles))
    return f" ({counted(number, 'seat')})" if number else ""


def _gone_hubs(changes: Sequence[Change], old: Commons) -> Iterator[Consequence]:
    for change in changes:
        if change.kind == "hub" and change.op == "delete":
            yield Consequence(
                f"Hub {change.name} is removed: nobody can reach a notebook through it any more, and its servers "
                "end. Homes and the hub's database stay.",
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
