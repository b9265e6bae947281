"""Node selectors and node affinity: the node labels that a pod requires."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from fleet.nodes import Node
from fleet.scheduling_blockers import AffinityMismatch, LabelMismatch, Undescribed
from fleet.unknown import UNKNOWN, Unknown, has_unknown, list_at, mapping_at, unknown_paths


def selector_blockers(pod: Mapping[str, Any], node: Node) -> Iterator[LabelMismatch]:
    """Labels of the nodeSelector that the node lacks."""
    for key, value in mapping_at(pod, "nodeSelector").items():
        has = node.label(key)
        if (about := node.about.get(key)) and value is not UNKNOWN and not _number_in(value, about):
            yield LabelMismatch(key, value, about)
        elif value is not UNKNOWN and not isinstance(has, Unknown) and has != value:
            yield LabelMismatch(key, value, has)


def affinity_blockers(pod: Mapping[str, Any], node: Node) -> Iterator[AffinityMismatch]:
    """The required node affinity, if none of its terms matches the node."""
    required = mapping_at(mapping_at(mapping_at(pod, "affinity"), "nodeAffinity"), REQUIRED)
    terms = list_at(required, "nodeSelectorTerms")
    if not terms or any(_term_matches(term, node) for term in terms):
        return
    yield AffinityMismatch(" or ".join(_describe(term) for term in terms))


REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"


def _term_matches(term: Any, node: Node) -> bool:
    if not isinstance(term, Mapping):
        return True  # unknown
    labels, fields = list_at(term, "matchExpressions"), list_at(term, "matchFields")
    if not labels and not fields and not has_unknown(term):
        return False  # Kubernetes: an empty term matches nothing
    return all(any(_matches(each, node)) for each in labels) and all(
        _expression_matches(each, {"metadata.name": node.name}.get) for each in fields
    )


def _matches(expression: Any, node: Node) -> Iterator[bool]:
    """Whether it matches; if only a range is known, one answer for each end and each wanted value within."""
    about = node.about.get(str(expression.get("key", ""))) if isinstance(expression, Mapping) else None
    if about is None:
        yield _expression_matches(expression, node.label)
        return
    for number in {
        about[0],
        about[-1],
        *(int(each) for each in list_at(expression, "values") if _number_in(each, about)),
    }:
        yield _expression_matches(expression, {str(expression["key"]): str(number)}.get)


def _number_in(value: Any, about: range) -> bool:
    return isinstance(value, str) and bool(_INTEGER.fullmatch(value)) and len(value) < 10 and int(value) in about


def _expression_matches(  # noqa: PLR0911 - one line per operator
    expression: Any, label: Callable[[str], str | Unknown | None]
) -> bool:
    if not isinstance(expression, Mapping) or has_unknown(expression):
        return True
    value = label(str(expression.get("key", "")))
    if isinstance(value, Unknown):
        return True
    values = list_at(expression, "values")
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


_INTEGER: Final = re.compile(r"[0-9]+")  # what Go reads as a number; int() also takes 8_192


def _describe(term: Any) -> str:
    parts = [
        f"{each.get('key')} {each.get('operator')} {','.join(map(str, list_at(each, 'values')))}".strip()
        for each in (*list_at(term, "matchExpressions"), *list_at(term, "matchFields"))
        if isinstance(each, Mapping)
    ]
    return " and ".join(parts) or "an empty term"


def affinity_doubts(pod: Mapping[str, Any], node: Node) -> Iterator[str | Undescribed]:
    """Terms are alternatives: if one certainly matches, no other counts."""
    terms = list_at(mapping_at(mapping_at(mapping_at(pod, "affinity"), "nodeAffinity"), REQUIRED), "nodeSelectorTerms")
    path = f"affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms"
    found = [
        list(_term_doubts(term, f"{path}[{index}]", node))
        for index, term in enumerate(terms)
        if _term_matches(term, node)
    ]
    if all(found):
        yield from (doubt for doubts in found for doubt in doubts)


def _term_doubts(term: Any, path: str, node: Node) -> Iterator[str | Undescribed]:
    yield from unknown_paths(term, path)
    for each in list_at(term, "matchExpressions"):
        if not isinstance(each, Mapping) or has_unknown(each):
            continue
        key = each.get("key")
        if isinstance(key, str) and key in node.about:
            if not all(_matches(each, node)):
                yield Undescribed(f"label {key}")
        elif isinstance(key, str) and node.label(key) is UNKNOWN and not _is_met_without(key, each.get("operator")):
            yield Undescribed(f"label {key}")


def _is_met_without(key: str, operator: Any) -> bool:
    """The expression wants the label absent, which it is unless some component sets it."""
    return operator in {"DoesNotExist", "NotIn"} and not key.startswith(SET_SOMETIMES)


# Labels of NVIDIA's operator and device plugin that only some nodes have.
SET_SOMETIMES: Final = tuple(
    f"nvidia.com/{word}"
    for word in ("gpu.deploy.", "gpu.machine", "gpu.present", "mig.", "mps.", "vgpu.", "gpu-driver")
)
