"""Values inside a resource, whatever their shape: what is not known yet stays so, and odd shapes are empty. Pure.

The API server refuses a value of another shape. Here it must not end the rule that looks beside it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from fleet.unknown import UNKNOWN, Unknown


def at(where: Any, *keys: str) -> Any:
    """The value below these keys: UNKNOWN where one on the way is, None where it is missing."""
    for key in keys:
        where = where.get(key) if isinstance(where, Mapping) else where if where is UNKNOWN else None
    return where


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether it is a list whose items are known."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def items(value: Any) -> list[Mapping[str, Any] | Unknown]:
    """The items of a list, in their places. A list that is not known yet is one item that is not known yet."""
    if value is UNKNOWN:
        return [UNKNOWN]
    return [each if isinstance(each, Mapping | Unknown) else {} for each in value] if is_list(value) else []


def some(answers: Iterable[bool | None]) -> bool | None:
    """Whether any answer is yes; None where one of them may turn out to be."""
    found = set(answers)
    return True if True in found else None if None in found else False


def text(value: Any, otherwise: str = "") -> str:
    """The value where it is text."""
    return value if isinstance(value, str) else otherwise


def object_name(logical: str, inputs: Mapping[str, Any]) -> str:
    """`namespace/name` of an object of Kubernetes, its name, or else its logical name."""
    parts = (text(at(inputs, "metadata", key)) for key in ("namespace", "name"))
    return "/".join(filter(None, parts)) or logical
