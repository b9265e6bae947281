"""How checks look into a stack file as it was read: what has the wrong shape is not there."""

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

from errors.problems import Loc
from fleet.node_names import NodeNameError, expand_all

Raw = Mapping[str, Any]
_NOTHING: Final[Raw] = {}


def mapping(raw: Raw, key: str) -> Raw:
    """The mapping at a key; an empty one where there is none."""
    found = raw.get(key)
    return found if isinstance(found, Mapping) else _NOTHING


def items(raw: Raw, *path: str, at: Loc = ()) -> list[tuple[Loc, Raw]]:
    """Mappings of the list at `path`, each with its place; `at` is the place of `raw`."""
    for step in path[:-1]:
        raw = mapping(raw, step)
    found = raw.get(path[-1])
    listed = found if isinstance(found, list | tuple) else []
    return [((*at, *path, index), item) for index, item in enumerate(listed) if isinstance(item, Mapping)]


def image_name(image: Raw) -> object:
    """What profiles and jobs call an image: its name, and its target where it has one."""
    name, target = image.get("name"), image.get("target")
    return f"{name}-{target}" if isinstance(name, str) and isinstance(target, str) else name


def is_count(value: object) -> TypeGuard[int]:
    """A whole number, which true is not."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """A number, which true is not."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def expanded(entries: object) -> tuple[str, ...] | None:
    """Node names of a list of names and ranges; None where it is none."""
    if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
        return None
    try:
        return expand_all(entries)
    except NodeNameError:
        return None
