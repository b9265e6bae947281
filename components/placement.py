"""Which nodes a pod may land on, and why not the others: selectors, affinity, taints, resources. Pure.

Follows kube-scheduler's filters NodeName, NodeAffinity, TaintToleration and NodeResourcesFit on an empty node: what is
asked is whether a node *could* host a pod, not whether it has room now. Pod specs are Kubernetes JSON (camelCase);
a value that is not known yet is UNKNOWN, and the answer then says what could not be decided.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from enum import Enum
from typing import Any, Final


class Unknown(Enum):
    """A value that the engine does not know yet."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN

_SUFFIXES: Final = {
    "": Decimal(1),
    **{unit: Decimal(1000) ** power for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", start=1)},
    "m": Decimal("0.001"),
    "u": Decimal("0.000001"),
    "n": Decimal("0.000000001"),
}


@dataclass(frozen=True, slots=True)
class Node:
    """One node, empty: its labels, taints (Kubernetes JSON) and allocatable resources."""

    name: str
    pool: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    allocatable: Mapping[str, Decimal]


@dataclass(frozen=True, slots=True)
class Landing:
    """Where a pod may land. `undecided` names the values that are not known yet and would decide it."""

    possible: tuple[Node, ...]
    refused: Mapping[str, str]  # pool → first reason, for pools none of whose nodes is possible
    undecided: tuple[str, ...]


def landing(pod: Mapping[str, Any], nodes: Iterable[Node]) -> Landing:
    """Every node that could host `pod`, and for each pool without one the nearest reason."""
    undecided = tuple(sorted(set(_unknowns(pod))))
    possible: list[Node] = []
    reasons: dict[str, list[str]] = {}
    for node in nodes:
        if found := obstacles(pod, node):
            reasons.setdefault(node.pool, found)
        else:
            possible.append(node)
    open_pools = {node.pool for node in possible}
    refused = {pool: found[0] for pool, found in reasons.items() if pool not in open_pools}
    return Landing(tuple(possible), refused, undecided)


def obstacles(pod: Mapping[str, Any], node: Node) -> list[str]:
    """Reasons why `node` can never host `pod`, each a clause; none when it can. Unknown values are no reason."""
    return [
        *_name(pod, node),
        *_selector(pod, node),
        *_affinity(pod, node),
        *_taints(pod, node),
        *_resources(pod, node),
    ]


def requests(pod: Mapping[str, Any]) -> dict[str, Decimal | Unknown]:
    """What the scheduler sets aside: containers together, or the biggest init container; sidecars run beside both."""
    running: dict[str, Decimal | Unknown] = {}
    peak: dict[str, Decimal | Unknown] = {}
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
    overhead = {name: quantity(value) for name, value in _mapping(pod, "overhead").items()}
    return _combine(total, overhead, _plus)


def quantity(text: Any) -> Decimal | Unknown:
    """A Kubernetes quantity as a number: "500m", "2Gi", 8. UNKNOWN stays so; ValueError for anything else."""
    if isinstance(text, Unknown):
        return text
    word = str(text).strip()
    number = word.rstrip("kKMGTPEimun") if not isinstance(text, int | float) else word
    suffix = word[len(number) :]
    try:
        unit: Decimal = _SUFFIXES[suffix]
        return Decimal(number) * unit
    except (InvalidOperation, KeyError) as error:
        raise ValueError(f'"{text}" is not a Kubernetes quantity such as 500m or 2Gi') from error


def _name(pod: Mapping[str, Any], node: Node) -> Iterator[str]:
    wanted = pod.get("nodeName")
    if wanted and wanted is not UNKNOWN and wanted != node.name:
        yield f"it is bound to node {wanted}"


def _selector(pod: Mapping[str, Any], node: Node) -> Iterator[str]:
    for key, value in _mapping(pod, "nodeSelector").items():
        if value is not UNKNOWN and node.labels.get(key) != value:
            has = f"has {node.labels[key]}" if key in node.labels else "has no such label"
            yield f"nodeSelector {key}={value}: the pool {has}"


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
    return all(_expression_matches(each, node.labels) for each in labels) and all(
        _expression_matches(each, {"metadata.name": node.name}) for each in fields
    )


def _expression_matches(expression: Any, labels: Mapping[str, str]) -> bool:  # noqa: PLR0911 - one line per operator
    if not isinstance(expression, Mapping) or _has_unknown(expression):
        return True
    value = labels.get(expression.get("key", ""))
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
    try:
        left, right = int(str(value)), int(str(values[0]))
    except (ValueError, IndexError):
        return False
    return left > right if greater else left < right


def _describe(term: Any) -> str:
    parts = [
        f"{each.get('key')} {each.get('operator')} {','.join(map(str, _list(each, 'values')))}".strip()
        for each in (*_list(term, "matchExpressions"), *_list(term, "matchFields"))
        if isinstance(each, Mapping)
    ]
    return " and ".join(parts) or "an empty term"


def _taints(pod: Mapping[str, Any], node: Node) -> Iterator[str]:
    tolerations = _list(pod, "tolerations")
    if pod.get("tolerations") is UNKNOWN:
        return
    for taint in node.taints:
        if taint.get("effect") in {"NoSchedule", "NoExecute"} and not any(_tolerates(t, taint) for t in tolerations):
            value = f"={taint['value']}" if taint.get("value") else ""
            yield f"it does not tolerate the taint {taint['key']}{value}:{taint['effect']}"


def _tolerates(toleration: Any, taint: Mapping[str, str]) -> bool:
    if not isinstance(toleration, Mapping) or _has_unknown(toleration):
        return True
    if toleration.get("effect") not in {None, "", taint.get("effect")}:
        return False
    key = toleration.get("key")
    if toleration.get("operator", "Equal") == "Exists":
        return not key or key == taint["key"]
    return bool(key == taint["key"] and (toleration.get("value") or "") == (taint.get("value") or ""))


def _resources(pod: Mapping[str, Any], node: Node) -> Iterator[str]:
    for name, asked in requests(pod).items():
        has = node.allocatable.get(name, Decimal(0))
        if asked is not UNKNOWN and asked > has:
            yield f"it asks for {_plain(asked)} {name}, a node of the pool has {_plain(has)}"


def _container_requests(container: Any) -> dict[str, Decimal | Unknown]:
    resources = _mapping(container, "resources") if isinstance(container, Mapping) else {}
    # What has a limit and no request asks for its limit.
    asked = {**_mapping(resources, "limits"), **_mapping(resources, "requests")}
    return {name: quantity(value) for name, value in asked.items()}


Amounts = dict[str, "Decimal | Unknown"]


def _combine(left: Amounts, right: Amounts, how: Any) -> Amounts:
    return {name: how(left.get(name, Decimal(0)), right.get(name, Decimal(0))) for name in {**left, **right}}


def _plus(left: Decimal | Unknown, right: Decimal | Unknown) -> Decimal | Unknown:
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else left + right


def _greater(left: Decimal | Unknown, right: Decimal | Unknown) -> Decimal | Unknown:
    return UNKNOWN if left is UNKNOWN or right is UNKNOWN else max(left, right)


def _plain(amount: Decimal | Unknown) -> str:
    return (
        f"{amount:f}".rstrip("0").rstrip(".") if isinstance(amount, Decimal) and "." in f"{amount:f}" else f"{amount}"
    )


def _list(where: Any, key: str) -> Sequence[Any]:
    value = where.get(key) if isinstance(where, Mapping) else None
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()


def _mapping(where: Any, key: str) -> Mapping[str, Any]:
    value = where.get(key) if isinstance(where, Mapping) else None
    return value if isinstance(value, Mapping) else {}


_DECIDING: Final = ("nodeName", "nodeSelector", "affinity", "tolerations", "overhead")


def _unknowns(pod: Mapping[str, Any]) -> Iterator[str]:
    """Paths of values that decide about nodes and are not known yet."""
    for key in _DECIDING:
        yield from _unknown_paths(pod.get(key), key)
    for kind in ("initContainers", "containers"):
        if pod.get(kind) is UNKNOWN:
            yield kind
        for index, container in enumerate(_list(pod, kind)):
            if container is UNKNOWN:
                yield f"{kind}[{index}]"
            elif isinstance(container, Mapping):
                yield from _unknown_paths(container.get("resources"), f"{kind}[{index}].resources")


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
