"""Which nodes a pod may land on, and why not the others: selectors, affinity, taints, resources. Pure.

Follows kube-scheduler's filters NodeName, NodeUnschedulable, NodeAffinity, TaintToleration and NodeResourcesFit on an
empty node: what is asked is whether a node *could* host a pod, not whether it has room now. Pod specs are Kubernetes
JSON (camelCase); a value that is not known yet is UNKNOWN, and the answer then says what could not be decided. So it
does where other pods decide (affinity to pods, spreading) or another controller (gates, claims of devices). Ports of
the host and where volumes lie are not looked at. tests/lab/test_scheduler.py compares with a real scheduler.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum
from typing import Any, Final

from fleet.labels import NVIDIA_CLASSES


class Unknown(Enum):
    """A value that the engine does not know yet."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
Amounts = dict[str, Decimal | Unknown]

_SUFFIXES: Final = {
    "": Decimal(1),
    **{unit: Decimal(1000) ** power for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", start=1)},
    "m": Decimal("0.001"),
    "u": Decimal("0.000001"),
    "n": Decimal("0.000000001"),
}


# Labels of NVIDIA's operator and device plugin that some nodes have and others have not.
SET_SOMETIMES: Final = tuple(
    f"nvidia.com/{word}"
    for word in ("gpu.deploy.", "gpu.machine", "gpu.present", "mig.", "mps.", "vgpu.", "gpu-driver")
)


@dataclass(frozen=True, slots=True)
class Node:
    """One node, empty: its labels, taints (Kubernetes JSON) and allocatable resources. Cordoned: it takes no pods.

    What stands in neither `labels` nor `allocatable` is not there, unless one of the last two fields leaves it open.
    """

    name: str
    pool: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    allocatable: Mapping[str, Decimal]
    is_cordoned: bool = False
    open_labels: str | tuple[str, ...] | None = None  # labels with such a prefix may be there too, with any value
    is_amount_open: bool = False  # it may have any amount of other resources
    about: Mapping[str, range] = field(default_factory=dict)  # labels of which no more is known than a range
    variant: str = ""  # nodes of its pool with the same facts, where not all have the same

    @property
    def alike(self) -> str:
        """The nodes that have the same facts as this one, by name: its pool, or a part of it."""
        return self.variant or self.pool

    def label(self, key: str) -> str | Unknown | None:
        """Its value; None where the node has none."""
        is_open = self.open_labels is not None and key.startswith(self.open_labels)
        may_be_there = is_open or key in self.about
        return self.labels.get(key, UNKNOWN if may_be_there else None)

    def amount(self, name: str) -> Decimal | Unknown:
        """What it has of a resource."""
        return self.allocatable.get(name, UNKNOWN if self.is_amount_open else Decimal(0))


@dataclass(frozen=True, slots=True)
class Landing:
    """Where a pod may land, and what would decide it and is not in the pod.

    An unknown value may keep it off a node for good. What other pods decide may send it to any that is possible.
    """

    possible: tuple[Node, ...]
    refused: Mapping[str, str]  # pool → first reason, for pools none of whose nodes is possible
    unknown: tuple[str, ...]  # values that are not known yet and decide, and what of its nodes nobody has described
    elsewhere: tuple[str, ...]  # what other pods or another controller decide
    certain: tuple[Node, ...] = ()  # possible ones that nothing unknown can keep it off

    @property
    def undecided(self) -> tuple[str, ...]:
        """Both, in one order."""
        return tuple(sorted({*self.unknown, *self.elsewhere}))


def landing(
    pod: Mapping[str, Any],
    nodes: Iterable[Node],
    *,
    runtime_classes: Mapping[str, Mapping[str, Any]] | None = None,
    is_daemon: bool = False,
) -> Landing:
    """Every node that could host `pod`, and for each pool without one the nearest reason.

    `runtime_classes` are objects of Kubernetes by name; one that is not among them and not NVIDIA's may tolerate any
    taint, and nothing else is expected of it.
    `is_daemon`: the pod is the template of a DaemonSet.
    """
    name = pod.get("runtimeClassName")
    runtime_class = (runtime_classes or {}).get(name, {}) if isinstance(name, str) else {}
    everywhere = sorted(_undecided(pod, runtime_class, f"runtime class {name}"))
    elsewhere = sorted(_others(pod))
    if is_daemon:
        pod, runtime_class = _as_daemon(pod, runtime_class)
    possible: list[Node] = []
    certain: list[Node] = []
    unknown = set(everywhere)
    reasons: dict[str, list[str]] = {}
    described = {"", *NVIDIA_CLASSES, *(runtime_classes or {})}
    foreign = name if isinstance(name, str) and name not in described and not is_daemon else ""
    wanted = _wanted(pod, runtime_class, foreign)
    for node in nodes:
        if found := _obstacles(wanted, node):
            reasons.setdefault(node.pool, found)
            continue
        possible.append(node)
        doubts = set(_doubts(wanted, node))
        unknown |= doubts
        if not doubts and not everywhere:
            certain.append(node)
    open_pools = {node.pool for node in possible}
    refused = {pool: found[0] for pool, found in reasons.items() if pool not in open_pools}
    return Landing(tuple(possible), refused, tuple(sorted(unknown)), tuple(elsewhere), tuple(certain))


def shape(pod: Mapping[str, Any]) -> str:
    """Equal for pods that land alike on the same nodes. Of equal ones that are written otherwise it may differ."""
    parts = [pod.get(key) for key in (*_DECIDING, *_ELSEWHERE, "hostNetwork")]
    for kind in ("initContainers", "containers"):
        parts += [
            (each.get("resources"), each.get("restartPolicy")) if isinstance(each, Mapping) else each
            for each in _list(pod, kind) or [pod.get(kind)]
        ]
        parts.append(kind)
    return repr(parts)


def obstacles(pod: Mapping[str, Any], node: Node, runtime_class: Mapping[str, Any] | None = None) -> list[str]:
    """Reasons why `node` can never host `pod`, each a clause; none when it can. Unknown values are no reason."""
    return _obstacles(_wanted(pod, runtime_class), node)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a pod and its runtime class ask of any node."""

    pod: Mapping[str, Any]
    scheduling: Mapping[str, Any]
    tolerations: Sequence[Any] | None  # None: unknown, so it may tolerate all
    amounts: Amounts
    foreign_class: str  # a runtime class that nobody has described, empty: there is none


def _wanted(pod: Mapping[str, Any], runtime_class: Mapping[str, Any] | None, foreign_class: str = "") -> _Wanted:
    scheduling = _mapping(runtime_class, "scheduling")
    tolerations = [*_list(pod, "tolerations"), *_list(scheduling, "tolerations")]
    is_unknown = bool(foreign_class) or UNKNOWN in (pod.get("tolerations"), scheduling.get("tolerations"))
    amounts = requests(pod, runtime_class)
    return _Wanted(pod, scheduling, None if is_unknown else tolerations, amounts, foreign_class)


def _obstacles(wanted: _Wanted, node: Node) -> list[str]:
    pod, tolerations = wanted.pod, wanted.tolerations
    return [
        *_name(pod, node),
        *_selector(pod, node),
        *_selector(wanted.scheduling, node),
        *_affinity(pod, node),
        *(() if tolerations is None else _taints(tolerations, node, is_bound=bool(pod.get("nodeName")))),
        *_resources(wanted.amounts, node),
    ]


def _as_daemon(pod: Mapping[str, Any], runtime_class: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A DaemonSet's pods stay through what drives others away from a node.

    Which nodes get one is decided from the template, before the runtime class adds its tolerations to a pod.
    """
    scheduling = {**_mapping(runtime_class, "scheduling"), "tolerations": ()}
    effects = {**_DAEMON_TAINTS, **({"network-unavailable": "NoSchedule"} if pod.get("hostNetwork") else {})}
    added = [
        {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect} for key, effect in effects.items()
    ]
    known = {} if pod.get("tolerations") is UNKNOWN else {"tolerations": [*_list(pod, "tolerations"), *added]}
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
    """What the scheduler sets aside: containers together, or the biggest init container; sidecars run beside both.

    What the pod itself asks for takes the place of that sum, and the overhead of its runtime class is added.
    """
    running: Amounts = {}
    peak: Amounts = {}
    for container in _list(pod, "initContainers"):
        asked = _container_requests(container)
        if isinstance(container, Mapping) and container.get("restartPolicy") == "Always":
            running = _combine(running, asked, _plus)
            asked = dict(running)
        else:
            asked = _combine(running, asked, _plus)
        peak = _combine(peak, asked, _greater)
    for container in _list(pod, "containers"):
        running = _combine(running, _container_requests(container), _plus)
    total = _combine(peak, running, _greater)
    total |= _pod_level(pod, total)
    overhead = _mapping(pod, "overhead") or _mapping(_mapping(runtime_class, "overhead"), "podFixed")
    return _combine(total, {name: quantity(value) for name, value in overhead.items()}, _plus)


def quantity(text: Any) -> Decimal | Unknown:
    """A Kubernetes quantity as a number: "500m", "2Gi", 8. UNKNOWN stays so; ValueError for anything else."""
    if isinstance(text, Unknown):
        return text
    match = _QUANTITY.fullmatch(str(text).strip())
    if match is None:
        raise ValueError(f'"{text}" is not a Kubernetes quantity such as 500m or 2Gi')
    return Decimal(match["number"]).scaleb(int(match["exponent"] or 0)) * _SUFFIXES[match["suffix"] or ""]


# An exponent of three digits is beyond every amount, and beyond what Decimal can add.
_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]{1,99}\.?[0-9]{0,99}|\.[0-9]{1,99}))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,2}))?"
)


def _name(pod: Mapping[str, Any], node: Node) -> Iterator[str]:
    wanted = pod.get("nodeName")
    if wanted and wanted is not UNKNOWN and wanted != node.name:
        yield f"it is bound to node {wanted}"


def _selector(pod: Mapping[str, Any], node: Node) -> Iterator[str]:
    for key, value in _mapping(pod, "nodeSelector").items():
        has = node.label(key)
        if (about := node.about.get(key)) and value is not UNKNOWN and not _number_in(value, about):
            yield f"nodeSelector {key}={value}: the pool has between {about[0]} and {about[-1]}"
        elif value is not UNKNOWN and has is not UNKNOWN and has != value:
            found = "has no such label" if has is None else f"has {has}"
            yield f"nodeSelector {key}={value}: the pool {found}"


def _affinity(pod: Mapping[str, Any], node: Node) -> Iterator[str]:
    required = _mapping(_mapping(_mapping(pod, "affinity"), "nodeAffinity"), _REQUIRED)
    terms = _list(required, "nodeSelectorTerms")
    if not terms or any(_term_matches(term, node) for term in terms):
        return
    yield f"its node affinity ({' or '.join(_describe(term) for term in terms)}) does not match"


_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _term_matches(term: Any, node: Node) -> bool:
    if not isinstance(term, Mapping):
        return True  # unknown
    labels, fields = _list(term, "matchExpressions"), _list(term, "matchFields")
    if not labels and not fields and not _has_unknown(term):
        return False  # Kubernetes: an empty term matches nothing
    return all(any(_matches(each, node)) for each in labels) and all(
        _expression_matches(each, {"metadata.name": node.name}.get) for each in fields
    )


def _matches(expression: Any, node: Node) -> Iterator[bool]:
    """Whether it matches what the node has; one answer for each end of a range, and for each value asked for in it."""
    about = node.about.get(str(expression.get("key", ""))) if isinstance(expression, Mapping) else None
    if about is None:
        yield _expression_matches(expression, node.label)
        return
    for number in {
        about[0],
        about[-1],
        *(int(each) for each in _list(expression, "values") if _number_in(each, about)),
    }:
        yield _expression_matches(expression, {str(expression["key"]): str(number)}.get)


def _number_in(value: Any, about: range) -> bool:
    return isinstance(value, str) and bool(_INTEGER.fullmatch(value)) and len(value) < 10 and int(value) in about


def _expression_matches(  # noqa: PLR0911 - one line per operator
    expression: Any, label: Callable[[str], str | Unknown | None]
) -> bool:
    if not isinstance(expression, Mapping) or _has_unknown(expression):
        return True
    value = label(str(expression.get("key", "")))
    if isinstance(value, Unknown):
        return True
    values = _list(expression, "values")
    match expression.get("operator"):
        case "In":
            return value in values
        case "NotIn":
            return value not in values
        case "Exists":
            return value is not None
        case "DoesNotExist":
            return value is None
        case "Gt" | "Lt" as operator:
            return _compares(value, values, greater=operator == "Gt")
        case _:
            return False


def _compares(value: str | None, values: Sequence[Any], *, greater: bool) -> bool:
    numbers = [int(text) for text in (str(value), *map(str, values)) if _INTEGER.fullmatch(text)]
    if len(numbers) != 2:
        return False
    return numbers[0] > numbers[1] if greater else numbers[0] < numbers[1]


_INTEGER: Final = re.compile(r"[0-9]+")  # of what a label can be, this is what Go reads; int() also takes 8_192


def _describe(term: Any) -> str:
    parts = [
        f"{each.get('key')} {each.get('operator')} {','.join(map(str, _list(each, 'values')))}".strip()
        for each in (*_list(term, "matchExpressions"), *_list(term, "matchFields"))
        if isinstance(each, Mapping)
    ]
    return " and ".join(parts) or "an empty term"


def _taints(tolerations: Sequence[Any], node: Node, *, is_bound: bool) -> Iterator[str]:
    # A pod with a nodeName never meets the scheduler, and the kubelet looks at NoExecute alone.
    effects = {"NoExecute"} if is_bound else {"NoExecute", "NoSchedule"}
    if node.is_cordoned and not is_bound and not any(_tolerates(each, _CORDON) for each in tolerations):
        yield "it is cordoned"
    for taint in node.taints:
        if taint.get("effect") in effects and not any(_tolerates(each, taint) for each in tolerations):
            value = f"={taint['value']}" if taint.get("value") else ""
            yield f"it does not tolerate the taint {taint['key']}{value}:{taint['effect']}"


_CORDON: Final = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}


def _tolerates(toleration: Any, taint: Mapping[str, str]) -> bool:
    if not isinstance(toleration, Mapping) or _has_unknown(toleration):
        return True
    if toleration.get("effect") not in (None, "", taint.get("effect")):
        return False
    key = toleration.get("key")
    if toleration.get("operator", "Equal") == "Exists":
        return not key or key == taint["key"]
    return bool(key == taint["key"] and (toleration.get("value") or "") == (taint.get("value") or ""))


def _resources(wanted: Amounts, node: Node) -> Iterator[str]:
    if node.allocatable.get("pods", Decimal(1)) < 1:
        yield "a node of the pool has room for no pod"
    for name, asked in wanted.items():
        has = node.amount(name)
        if not isinstance(asked, Unknown) and not isinstance(has, Unknown) and asked > has:
            yield f"it asks for {_plain(asked, name)} {name}, a node of the pool has {_plain(has, name)}"


def _doubts(wanted: _Wanted, node: Node) -> Iterator[str]:
    """What may keep a pod off this node, which is possible: values that are not known yet, labels nobody described."""
    for selector in (wanted.pod, wanted.scheduling):
        for key, value in _mapping(selector, "nodeSelector").items():
            if value is UNKNOWN:
                yield f"nodeSelector.{key}"
            elif node.label(key) is UNKNOWN:
                yield f"the label {key} of nodes"
    yield from _affinity_doubts(wanted.pod, node)
    if any(True for _ in _taints(_known_tolerations(wanted), node, is_bound=bool(wanted.pod.get("nodeName")))):
        yield from _unknown_paths(wanted.pod.get("tolerations"), "tolerations")
        yield from _unknown_paths(wanted.scheduling.get("tolerations"), "tolerations of its runtime class")
        if wanted.foreign_class:
            yield f"the tolerations of the runtime class {wanted.foreign_class}, which is not of this stack"
    yield from (
        f"the {name} of nodes" for name, asked in wanted.amounts.items() if asked and node.amount(name) is UNKNOWN
    )


def _known_tolerations(wanted: _Wanted) -> list[Any]:
    listed = [*_list(wanted.pod, "tolerations"), *_list(wanted.scheduling, "tolerations")]
    return [each for each in listed if isinstance(each, Mapping) and not _has_unknown(each)]


def _affinity_doubts(pod: Mapping[str, Any], node: Node) -> Iterator[str]:
    """Terms are alternatives: where one surely matches, none of the others decides."""
    terms = _list(_mapping(_mapping(_mapping(pod, "affinity"), "nodeAffinity"), _REQUIRED), "nodeSelectorTerms")
    path = f"affinity.nodeAffinity.{_REQUIRED}.nodeSelectorTerms"
    found = [
        list(_term_doubts(term, f"{path}[{index}]", node))
        for index, term in enumerate(terms)
        if _term_matches(term, node)
    ]
    if all(found):
        yield from (doubt for doubts in found for doubt in doubts)


def _term_doubts(term: Any, path: str, node: Node) -> Iterator[str]:
    yield from _unknown_paths(term, path)
    for each in _list(term, "matchExpressions"):
        if not isinstance(each, Mapping) or _has_unknown(each):
            continue
        key = each.get("key")
        if isinstance(key, str) and key in node.about:
            if not all(_matches(each, node)):
                yield f"the label {key} of nodes"
        elif isinstance(key, str) and node.label(key) is UNKNOWN and not _is_met_without(key, each.get("operator")):
            yield f"the label {key} of nodes"


def _is_met_without(key: str, operator: Any) -> bool:
    """A label that nobody sets and nobody described is not there, and the expression asks for no more."""
    return operator in {"DoesNotExist", "NotIn"} and not key.startswith(SET_SOMETIMES)


def _container_requests(container: Any) -> Amounts:
    resources = _mapping(container, "resources") if isinstance(container, Mapping) else {}
    # What has a limit and no request asks for its limit.
    asked = {**_implied(resources), **_mapping(resources, "requests")}
    return {name: quantity(value) for name, value in asked.items()}


def _implied(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Limits, as requests of what no request names. Of devices alone a limit says the request before it is known."""
    limits = _mapping(resources, "limits")
    if resources.get("requests") is not UNKNOWN:
        return dict(limits)
    return {name: value if "/" in name else UNKNOWN for name, value in limits.items()}


def _pod_level(pod: Mapping[str, Any], together: Amounts) -> Amounts:
    """What the pod asks for itself. Its limit is its request only of what none of its containers asks for."""
    resources = _mapping(pod, "resources")
    limits = {name: value for name, value in _implied(resources).items() if name not in together}
    asked = {**limits, **_mapping(resources, "requests")}
    return {name: quantity(value) for name, value in asked.items() if re.fullmatch(r"cpu|memory|hugepages-.*", name)}


def _combine(left: Amounts, right: Amounts, how: Any) -> Amounts:
    return {name: how(left.get(name, Decimal(0)), right.get(name, Decimal(0))) for name in {**left, **right}}


def _plus(left: Decimal | Unknown, right: Decimal | Unknown) -> Decimal | Unknown:
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else left + right


def _greater(left: Decimal | Unknown, right: Decimal | Unknown) -> Decimal | Unknown:
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else max(left, right)


def _plain(amount: Decimal | Unknown, name: str) -> str:
    if isinstance(amount, Decimal) and name in _BYTES and amount.is_finite() and amount >= _MI:
        unit, of = ("Gi", _MI * 1024) if amount >= _MI * 1024 else ("Mi", _MI)
        return _plain(Decimal(f"{amount / of:.2f}"), "") + unit
    return (
        f"{amount:f}".rstrip("0").rstrip(".") if isinstance(amount, Decimal) and "." in f"{amount:f}" else f"{amount}"
    )


_BYTES: Final = frozenset({"memory", "ephemeral-storage"})
_MI: Final = Decimal(1024**2)


def _list(where: Any, key: str) -> Sequence[Any]:
    value = where.get(key) if isinstance(where, Mapping) else None
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _mapping(where: Any, key: str) -> Mapping[str, Any]:
    value = where.get(key) if isinstance(where, Mapping) else None
    return value if isinstance(value, Mapping) else {}


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


def _others(pod: Mapping[str, Any]) -> Iterator[str]:
    """What decides about nodes and is not in the pod: other pods, and controllers that open a gate or give a device."""
    for kind in ("podAffinity", "podAntiAffinity"):
        if _list(_mapping(_mapping(pod, "affinity"), kind), _REQUIRED):
            yield f"affinity.{kind}"
    spreads = [each for each in _list(pod, _SPREAD) if isinstance(each, Mapping)]
    if any(each.get("whenUnsatisfiable") != "ScheduleAnyway" for each in spreads):
        yield _SPREAD
    yield from (key for key in (_GATES, _CLAIMS) if _list(pod, key))


def _undecided(pod: Mapping[str, Any], runtime_class: Mapping[str, Any], class_path: str) -> Iterator[str]:
    """Paths of values that decide about every node alike and are not known yet."""
    for key in ("nodeName", "runtimeClassName", "nodeSelector", "affinity"):
        if pod.get(key) is UNKNOWN:
            yield key
    yield from _undecided_affinity(_mapping(pod, "affinity"))
    for key in ("overhead", "resources"):
        yield from _unknown_paths(pod.get(key), key)
    for key in ("scheduling", "overhead"):
        yield from _unknown_paths(runtime_class.get(key), f"{class_path}.{key}")
    for kind in ("initContainers", "containers"):
        if pod.get(kind) is UNKNOWN:
            yield kind
        for index, container in enumerate(_list(pod, kind)):
            yield from _unknown_amounts(container, f"{kind}[{index}]")


def _undecided_affinity(affinity: Mapping[str, Any]) -> Iterator[str]:
    """What is only preferred decides nothing; single terms decide about single nodes."""
    for kind in ("nodeAffinity", "podAffinity", "podAntiAffinity"):
        required = _mapping(affinity, kind).get(_REQUIRED)
        if affinity.get(kind) is UNKNOWN:
            yield f"affinity.{kind}"
        elif required is UNKNOWN:
            yield f"affinity.{kind}.{_REQUIRED}"
        elif isinstance(required, Mapping) and required.get("nodeSelectorTerms") is UNKNOWN:
            yield f"affinity.{kind}.{_REQUIRED}.nodeSelectorTerms"


def _unknown_amounts(container: Any, path: str) -> Iterator[str]:
    """A limit decides nothing where the request beside it is known."""
    if container is UNKNOWN:
        yield path
        return
    resources = container.get("resources") if isinstance(container, Mapping) else None
    requested = _mapping(resources, "requests")
    for each in _unknown_paths(resources, f"{path}.resources"):
        name = each.removeprefix(f"{path}.resources.limits.")
        if name == each or requested.get(name, UNKNOWN) is UNKNOWN:
            yield each


def _unknown_paths(value: Any, path: str) -> Iterator[str]:
    if value is UNKNOWN:
        yield path
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _unknown_paths(inner, f"{path}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, inner in enumerate(value):
            yield from _unknown_paths(inner, f"{path}[{index}]")


def _has_unknown(value: Any) -> bool:
    return any(True for _ in _unknown_paths(value, ""))
