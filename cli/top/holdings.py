"""Who holds which GPUs of a fleet: values, read from a Docker engine and from a cluster's objects. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from fleet import labels

if TYPE_CHECKING:
    from components.on_docker.engine import Holder  # its SDK is an extra

_USER: Final = "hub.jupyter.org/username"  # KubeSpawner's annotation; its label of the same name holds a slug


class State(StrEnum):
    """The state of some GPUs."""

    HELD = "held"
    FREE = "free"
    WAITING = "waiting"  # for a pod without a node
    SHARED = "shared"  # several containers may use it, and nobody counts them


@dataclass(frozen=True, slots=True)
class Holding:
    """Some GPUs of one node, or one GPU of a host, and their holder. `user` and `hub` are empty outside hubs."""

    state: State
    pool: str
    node: str
    gpus: int = 1
    index: int | None = None  # of a Docker host's GPU; a cluster only counts
    holder: str = ""  # a container, or a pod as namespace and name
    user: str = ""
    hub: str = ""
    since: dt.datetime | None = None


def of_host(pool: str, gpus: int, holders: Iterable[Holder], *, are_shared: bool = False) -> Iterator[Holding]:
    """One for each GPU of a Docker host, by index."""
    by_index = {index: each for each in holders if not each.has_ended for index in each.cards}
    for index in range(gpus):
        if are_shared:
            yield Holding(State.SHARED, pool, pool, index=index)
        elif has := by_index.get(index):
            since = dt.datetime.fromtimestamp(int(has.since), dt.UTC) if has.since.isdigit() else None
            yield Holding(State.HELD, pool, pool, 1, index, has.name, has.user, has.hub, since)
        else:
            yield Holding(State.FREE, pool, pool, index=index)


def of_cluster(
    pools: Mapping[str, Sequence[str]], nodes: Iterable[Mapping[str, Any]], pods: Iterable[Mapping[str, Any]]
) -> Iterator[Holding]:
    """Pods with GPUs on the nodes of these pools, then the free GPUs; waiting pods come last.

    `pools` maps each pool to its nodes; a node with our label belongs to the pool it names. Nodes and pods are API
    objects; pods that have ended hold nothing.
    """
    of_names = {name: pool for pool, names in pools.items() for name in names}
    asking = [each for each in pods if _gpus_of(each) and not _has_ended(each)]
    on: dict[str, list[Mapping[str, Any]]] = {}
    for pod in asking:
        on.setdefault(str(pod["spec"].get("nodeName") or ""), []).append(pod)
    found = []
    for node in nodes:
        meta = node["metadata"]
        name = str(meta["name"])
        pool = str((meta.get("labels") or {}).get(labels.POOL) or of_names.get(name, ""))
        total = _number((node.get("status") or {}).get("allocatable"))
        if pool in pools and total:
            found.append((pool, name, total))
    order = {pool: place for place, pool in enumerate(pools)}
    for pool, name, total in sorted(found, key=lambda each: (order[each[0]], each[1])):
        held = sorted((_held(pod, pool, name) for pod in on.get(name, ())), key=_age)
        yield from held
        if (free := total - sum(each.gpus for each in held)) > 0:
            yield Holding(State.FREE, pool, name, free)
    yield from sorted((_held(pod, "", "") for pod in on.get("", ())), key=_age)


def _held(pod: Mapping[str, Any], pool: str, node: str) -> Holding:
    meta = pod["metadata"]
    user = str((meta.get("annotations") or {}).get(_USER) or "")
    namespace = str(meta["namespace"])
    return Holding(
        State.HELD if node else State.WAITING,
        pool,
        node,
        _gpus_of(pod),
        None,
        f"{namespace}/{meta['name']}",
        user,
        namespace if user else "",
        _time(_scheduled(pod) or meta.get("creationTimestamp")),
    )


def _gpus_of(pod: Mapping[str, Any]) -> int:
    """What the scheduler reserves: all containers together, or the largest init container."""
    spec = pod["spec"]
    each = [_number((one.get("resources") or {}).get("limits")) for one in spec.get("containers") or ()]
    first = [_number((one.get("resources") or {}).get("limits")) for one in spec.get("initContainers") or ()]
    return max(sum(each), max(first, default=0))


def _number(amounts: Mapping[str, Any] | None) -> int:
    return int((amounts or {}).get(labels.GPU_RESOURCE) or 0)


def _has_ended(pod: Mapping[str, Any]) -> bool:
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def _scheduled(pod: Mapping[str, Any]) -> str | None:
    """When it got its node, and with it the GPUs."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    return next(
        (
            each.get("lastTransitionTime")
            for each in conditions
            if each.get("type") == "PodScheduled" and each.get("status") == "True"
        ),
        None,
    )


def _time(text: str | None) -> dt.datetime | None:
    return dt.datetime.fromisoformat(text) if text else None


def _age(each: Holding) -> tuple[bool, str, str]:
    """Longest first."""
    return (each.since is None, each.since.isoformat() if each.since else "", each.holder)
