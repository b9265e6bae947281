"""Accessors for raw stack files in checks: malformed values count as missing."""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from errors.problems import Loc
from fleet.node_names import NodeNameError, expand_all

Raw = Mapping[str, Any]
_NOTHING: Final[Raw] = {}


def mapping(raw: Raw, key: str) -> Raw:
    """The mapping at a key, or an empty one."""
    found = raw.get(key)
    return found if isinstance(found, Mapping) else _NOTHING


def items(raw: Raw, *path: str, at: Loc = ()) -> list[tuple[Loc, Raw]]:
    """Mappings of the list at `path`, each with its location; `at` locates `raw`."""
    for step in path[:-1]:
        raw = mapping(raw, step)
    found = raw.get(path[-1])
    listed = found if isinstance(found, list | tuple) else []
    return [((*at, *path, index), item) for index, item in enumerate(listed) if isinstance(item, Mapping)]


def image_name(image: Raw) -> object:
    """An image's full name: its name, and its target if any."""
    name, target = image.get("name"), image.get("target")
    return f"{name}-{target}" if isinstance(name, str) and isinstance(target, str) else name


def is_count(value: object) -> TypeGuard[int]:
    """An integer, not a bool."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """A number, not a bool."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def expanded(entries: object) -> tuple[str, ...] | None:
    """Node names from names and ranges; None if malformed."""
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        return None
    try:
        return expand_all(entries)
    except NodeNameError:
        return None
