"""Reads values in resources of any shape: unknown stays unknown, and malformed counts as empty. Pure.

The API server rejects malformed values. Here they must not stop a rule that checks another field.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeGuard

from fleet.unknown import UNKNOWN, Unknown


def at(where: Any, *keys: str) -> Any:
    """The value below these keys: UNKNOWN if a parent is, None if missing."""
    for key in keys:
        where = where.get(key) if isinstance(where, Mapping) else where if where is UNKNOWN else None
    return where


def is_list(value: Any) -> TypeGuard[Sequence[Any]]:
    """Whether it is a list with known items."""
    return isinstance(value, Sequence) and not isinstance(value, str)


def listed(value: Any) -> Sequence[Any]:
    """A list's items of any type. A list not known yet is one unknown item."""
    return (UNKNOWN,) if value is UNKNOWN else value if is_list(value) else ()


def items(value: Any) -> list[Mapping[str, Any] | Unknown]:
    """A list's items in order, empty if they are no mappings."""
    return [each if isinstance(each, Mapping | Unknown) else {} for each in listed(value)]


def some(answers: Iterable[bool | None]) -> bool | None:
    """Whether any answer is yes; None if one may still be."""
    found = set(answers)
    return True if True in found else None if None in found else False


def text(value: Any, otherwise: str = "") -> str:
    """The value, if it is text."""
    return value if isinstance(value, str) else otherwise


def object_name(logical: str, inputs: Mapping[str, Any]) -> str:
    """A Kubernetes object's `namespace/name`, name, or else its logical name."""
    parts = (text(at(inputs, "metadata", key)) for key in ("namespace", "name"))
    return "/".join(filter(None, parts)) or logical


def capabilities(added: Any) -> tuple[str | Unknown, ...]:
    """Names without CAP_, in capitals."""
    return tuple(each if each is UNKNOWN else str(each).upper().removeprefix("CAP_") for each in listed(added))
