"""Nodes that can host a pod, and why others cannot: selectors, affinity, taints, resources. Pure.

This follows kube-scheduler's filters NodeName, NodeUnschedulable, NodeAffinity, TaintToleration and NodeResourcesFit on
an empty node: the question is whether a node *could* host the pod, not whether it has room now. Pod specs are
Kubernetes JSON (camelCase). If a value is UNKNOWN, or other pods (pod affinity, spreading) or another controller
(gates, resource claims) decide, the answer says so. Host ports and the location of volumes are ignored.
tests/lab/test_scheduler.py compares the answers with a real scheduler.
"""

import functools
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from fleet.labels import NVIDIA_CLASSES
from fleet.node_affinity import REQUIRED, affinity_blockers, affinity_doubts, selector_blockers
from fleet.nodes import Node
from fleet.quantities import Amounts, added, larger, quantity
from fleet.scheduling_blockers import (
    InsufficientResource,
    NoPods,
    OtherBlocker,
    SchedulingBlocker,
    Undescribed,
    wording,
)
from fleet.unknown import UNKNOWN, Unknown, has_unknown, list_at, mapping_at, unknown_paths


@dataclass(frozen=True, slots=True)
class Landing:
    """Where a pod may land, and what outside the pod decides it.

    An unknown value may keep the pod off a node for good; other pods may send it to any node that is possible.
    """

    possible: tuple[Node, ...]
    refused: Mapping[
        str, tuple[SchedulingBlocker, ...]
    ]  # pool → what keeps it off the first node, if no node is possible
    unknown: tuple[str | Undescribed, ...]  # paths of deciding values that are not known yet, and facts of nodes
    elsewhere: tuple[str, ...]  # what other pods or another controller decide
    certain: tuple[Node, ...] = ()  # possible nodes that no unknown value can rule out

    @property
    def undecided(self) -> tuple[str | Undescribed, ...]:
        """Both, sorted as text."""
        return _sorted({*self.unknown, *self.elsewhere})


def landing(
    pod: Mapping[str, Any],
    nodes: Iterable[Node],
    *,
    runtime_classes: Mapping[str, Mapping[str, Any]] | None = None,
    is_daemon: bool = False,
) -> Landing:
    """Every node that could host `pod`, and for each pool without one the reasons.

    `runtime_classes` are RuntimeClass objects by name; a class that is neither among them nor NVIDIA's is assumed to
    tolerate any taint. `is_daemon`: the pod is the template of a DaemonSet.
    """
    name = pod.get("runtimeClassName")
    runtime_class = (runtime_classes or {}).get(name, {}) if isinstance(name, str) else {}
    everywhere = sorted(_undecided(pod, runtime_class, f"runtime class {name}"))
    elsewhere = sorted(_others(pod))
    if is_daemon:
        pod, runtime_class = as_daemon(pod, runtime_class)
    described = {"", *NVIDIA_CLASSES, *(runtime_classes or {})}
    foreign = name if isinstance(name, str) and name not in described and not is_daemon else ""
    wanted = _wanted(pod, runtime_class, foreign)
    blockers, doubts = functools.partial(_blockers, wanted), functools.partial(_doubts, wanted)
    return landing_by(nodes, blockers, doubts, everywhere, elsewhere)


def landing_by(
    nodes: Iterable[Node],
    blockers: Callable[[Node], Iterable[SchedulingBlocker]],
    doubts: Callable[[Node], Iterable[str | Undescribed]],
    everywhere: Collection[str],
    elsewhere: Iterable[str] = (),
) -> Landing:
    """The nodes that nothing blocks. `everywhere` are paths of unknown values that leave every node uncertain."""
    possible: list[Node] = []
    certain: list[Node] = []
    unknown: set[str | Undescribed] = set(everywhere)
    reasons: dict[str, tuple[SchedulingBlocker, ...]] = {}
    for node in nodes:
        if found := tuple(blockers(node)):
            reasons.setdefault(node.pool, found)
            continue
        possible.append(node)
        may_block = set(doubts(node))
        unknown |= may_block
        if not may_block and not everywhere:
            certain.append(node)
    open_pools = {node.pool for node in possible}
    refused = {pool: found for pool, found in reasons.items() if pool not in open_pools}
    return Landing(tuple(possible), refused, _sorted(unknown), tuple(elsewhere), tuple(certain))


def _sorted(found: Iterable[str | Undescribed]) -> tuple[str | Undescribed, ...]:
    return tuple(sorted(found, key=lambda each: each if isinstance(each, str) else wording(each)))


def shape(pod: Mapping[str, Any]) -> str:
    """A key: pods with the same key land on the same nodes. The reverse need not hold."""
    parts = [pod.get(key) for key in (*_DECIDING, *_ELSEWHERE, "hostNetwork")]
    for kind in ("initContainers", "containers"):
        parts += [
            (each.get("resources"), each.get("restartPolicy")) if isinstance(each, Mapping) else each
            for each in list_at(pod, kind) or [pod.get(kind)]
        ]
        parts.append(kind)
    return repr(parts)


_DECIDING: Final = (
    "nodeName",
    "nodeSelector",
    "affinity",
    "tolerations",
    "overhead",
    "resources",
    "runtimeClassName",
)
_ELSEWHERE: Final = (_SPREAD := "topologySpreadConstraints", _GATES := "schedulingGates", _CLAIMS := "resourceClaims")


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a pod and its runtime class need of a node."""

    pod: Mapping[str, Any]
    scheduling: Mapping[str, Any]
    tolerations: Sequence[Any] | None  # None: unknown, so it may tolerate all
    amounts: Amounts
    foreign_class: str  # a runtime class without a description; empty: none


def _wanted(pod: Mapping[str, Any], runtime_class: Mapping[str, Any] | None, foreign_class: str) -> _Wanted:
    scheduling = mapping_at(runtime_class, "scheduling")
    tolerations = [*list_at(pod, "tolerations"), *list_at(scheduling, "tolerations")]
    is_unknown = bool(foreign_class) or UNKNOWN in (pod.get("tolerations"), scheduling.get("tolerations"))
    amounts = requests(pod, runtime_class)
    return _Wanted(pod, scheduling, None if is_unknown else tolerations, amounts, foreign_class)


def _blockers(wanted: _Wanted, node: Node) -> Iterator[SchedulingBlocker]:
    """Why the node can never host the pod; unknown values are no reason."""
    pod = wanted.pod
    yield from _name(pod, node)
    yield from selector_blockers(pod, node)
    yield from selector_blockers(wanted.scheduling, node)
    yield from affinity_blockers(pod, node)
    if wanted.tolerations is not None:
        yield from taint_blockers(wanted.tolerations, node, is_bound=bool(pod.get("nodeName")))
    yield from resource_blockers(wanted.amounts, node)


def _name(pod: Mapping[str, Any], node: Node) -> Iterator[OtherBlocker]:
    wanted = pod.get("nodeName")
    if wanted and wanted is not UNKNOWN and wanted != node.name:
        yield OtherBlocker(f"it is bound to node {wanted}")


def resource_blockers(wanted: Amounts, node: Node) -> Iterator[NoPods | InsufficientResource]:
    """Resources that the node lacks."""
    if node.allocatable.get("pods", Decimal(1)) < 1:
        yield NoPods()
    for name, requested in wanted.items():
        has = node.amount(name)
        if not isinstance(requested, Unknown) and not isinstance(has, Unknown) and requested > has:
            yield InsufficientResource(name, requested, has)


def _doubts(wanted: _Wanted, node: Node) -> Iterator[str | Undescribed]:
    """What may keep the pod off this possible node: values that are not known yet, undescribed labels."""
    for selector in (wanted.pod, wanted.scheduling):
        for key, value in mapping_at(selector, "nodeSelector").items():
            if value is UNKNOWN:
                yield f"nodeSelector.{key}"
            elif node.label(key) is UNKNOWN:
                yield Undescribed(f"label {key}")
    yield from affinity_doubts(wanted.pod, node)
    if any(True for _ in taint_blockers(_known_tolerations(wanted), node, is_bound=bool(wanted.pod.get("nodeName")))):
        yield from unknown_paths(wanted.pod.get("tolerations"), "tolerations")
        yield from unknown_paths(wanted.scheduling.get("tolerations"), "tolerations of its runtime class")
        if wanted.foreign_class:
            yield f"the tolerations of the runtime class {wanted.foreign_class}, which is not of this stack"
    yield from resource_doubts(wanted.amounts, node)


def resource_doubts(wanted: Amounts, node: Node) -> Iterator[Undescribed]:
    """Resources that the node may lack: their amount there is not described."""
    yield from (Undescribed(name) for name, amount in wanted.items() if amount and node.amount(name) is UNKNOWN)


def _known_tolerations(wanted: _Wanted) -> list[Any]:
    listed = [*list_at(wanted.pod, "tolerations"), *list_at(wanted.scheduling, "tolerations")]
    return [each for each in listed if isinstance(each, Mapping) and not has_unknown(each)]


def _others(pod: Mapping[str, Any]) -> Iterator[str]:
    """What else decides: other pods, and controllers that open a gate or allocate a device."""
    for kind in ("podAffinity", "podAntiAffinity"):
        if list_at(mapping_at(mapping_at(pod, "affinity"), kind), REQUIRED):
            yield f"affinity.{kind}"
    spreads = [each for each in list_at(pod, _SPREAD) if isinstance(each, Mapping)]
    if any(each.get("whenUnsatisfiable") != "ScheduleAnyway" for each in spreads):
        yield _SPREAD
    yield from (key for key in (_GATES, _CLAIMS) if list_at(pod, key))


def _undecided(pod: Mapping[str, Any], runtime_class: Mapping[str, Any], class_path: str) -> Iterator[str]:
    """Paths of values that are not known yet and decide for all nodes alike."""
    for key in ("nodeName", "runtimeClassName", "nodeSelector", "affinity"):
        if pod.get(key) is UNKNOWN:
            yield key
    yield from _undecided_affinity(mapping_at(pod, "affinity"))
    for key in ("overhead", "resources"):
        yield from unknown_paths(pod.get(key), key)
    for key in ("scheduling", "overhead"):
        yield from unknown_paths(runtime_class.get(key), f"{class_path}.{key}")
    for kind in ("initContainers", "containers"):
        if pod.get(kind) is UNKNOWN:
            yield kind
        for index, container in enumerate(list_at(pod, kind)):
            yield from _unknown_amounts(container, f"{kind}[{index}]")


def _undecided_affinity(affinity: Mapping[str, Any]) -> Iterator[str]:
    """Preferences decide nothing; single terms are judged node by node, not here."""
    for kind in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
        required = mapping_at(affinity, kind).get(REQUIRED)
        if affinity.get(kind) is UNKNOWN:
            yield f"affinity.{kind}"
        elif required is UNKNOWN:
            yield f"affinity.{kind}.{REQUIRED}"
        elif isinstance(required, Mapping) and required.get("nodeSelectorTerms") is UNKNOWN:
            yield f"affinity.{kind}.{REQUIRED}.nodeSelectorTerms"


def _unknown_amounts(container: Any, path: str) -> Iterator[str]:
    """A limit does not matter if its request is known."""
    if container is UNKNOWN:
        yield path
        return
    resources = container.get("resources") if isinstance(container, Mapping) else None
    requested = mapping_at(resources, "requests")
    for each in unknown_paths(resources, f"{path}.resources"):
        name = each.removeprefix(f"{path}.resources.limits.")
        if name == each or requested.get(name, UNKNOWN) is UNKNOWN:
            yield each


def taint_blockers(tolerations: Sequence[Any], node: Node, *, is_bound: bool) -> Iterator[OtherBlocker]:
    """A cordon, and taints that none of these tolerations tolerates."""
    # A pod with a nodeName bypasses the scheduler, and the kubelet checks NoExecute only.
    effects = {"NoExecute"} if is_bound else {"NoExecute", "NoSchedule"}
    if node.is_cordoned and not is_bound and not any(_tolerates(each, _CORDON) for each in tolerations):
        yield OtherBlocker("it is cordoned")
    for taint in node.taints:
        if taint.get("effect") in effects and not any(_tolerates(each, taint) for each in tolerations):
            value = f"={taint['value']}" if taint.get("value") else ""
            yield OtherBlocker(f"it does not tolerate the taint {taint['key']}{value}:{taint['effect']}")


_CORDON: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def _tolerates(toleration: Any, taint: Mapping[str, str]) -> bool:
    if not isinstance(toleration, Mapping) or has_unknown(toleration):
        return True
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key")
    if toleration.get("operator", "Equal") == "Exists":
        return not key or key == taint["key"]
    return bool(key == taint["key"] and (toleration.get("value") or "") == (taint.get("value") or ""))


def as_daemon(pod: Mapping[str, Any], runtime_class: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The controller adds tolerations to a DaemonSet's pods, so that they stay where others are evicted.

    It chooses the nodes from the template, before the runtime class adds its own tolerations to a pod.
    """
    scheduling = {**mapping_at(runtime_class, "scheduling"), "tolerations": ()}
    effects = {**_DAEMON_TAINTS, **({"network-unavailable": "NoSchedule"} if pod.get("hostNetwork") else {})}
    added = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect} for key, effect in effects.items()
    ]
    known = {} if pod.get("tolerations") is UNKNOWN else {"tolerations": [*list_at(pod, "tolerations"), *added]}
    return {**pod, **known}, {**runtime_class, "scheduling": scheduling}


# Source: kubernetes v1.34.2, pkg/controller/daemon/util/daemonset_util.go, AddOrUpdateDaemonPodTolerations.
_DAEMON_TAINTS: Final = {
    "not-ready": "NoExecute",
    "unreachable": "NoExecute",
    "disk-pressure": "NoSchedule",
    "memory-pressure": "NoSchedule",
    "pid-pressure": "NoSchedule",
    "unschedulable": "NoSchedule",
}


def requests(pod: Mapping[str, Any], runtime_class: Mapping[str, Any] | None = None) -> Amounts:
    """What the scheduler reserves: the sum of containers or the biggest init container; sidecars add to both.

    Pod-level requests replace that sum; the overhead of its runtime class is added.
    """
    running: Amounts = {}
    peak: Amounts = {}
    for container in list_at(pod, "initContainers"):
        requested = _container_requests(container)
        if isinstance(container, Mapping) and container.get("restartPolicy") == "Always":
            running = added(running, requested)
            requested = dict(running)
        else:
            requested = added(running, requested)
        peak = larger(peak, requested)
    for container in list_at(pod, "containers"):
        running = added(running, _container_requests(container))
    total = larger(peak, running)
    total |= _pod_level(pod, total)
    overhead = mapping_at(pod, "overhead") or mapping_at(mapping_at(runtime_class, "overhead"), "podFixed")
    return added(total, {name: quantity(value) for name, value in overhead.items()})


def _container_requests(container: Any) -> Amounts:
    resources = mapping_at(container, "resources") if isinstance(container, Mapping) else {}
    # A limit without a request is the request.
    requested = {**_implied(resources), **mapping_at(resources, "requests")}
    return {name: quantity(value) for name, value in requested.items()}


def _implied(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Requests implied by limits. While the requests are unknown, only device limits imply them."""
    limits = mapping_at(resources, "limits")
    if resources.get("requests") is not UNKNOWN:
        return dict(limits)
    return {name: value if "/" in name else UNKNOWN for name, value in limits.items()}


def _pod_level(pod: Mapping[str, Any], together: Amounts) -> Amounts:
    """Pod-level requests. The pod's limit is its request only if no container requests the resource."""
    resources = mapping_at(pod, "resources")
    limits = {name: value for name, value in _implied(resources).items() if name not in together}
    stated = {**limits, **mapping_at(resources, "requests")}
    return {name: quantity(value) for name, value in stated.items() if re.fullmatch(r"cpu|memory|hugepages-.*", name)}
