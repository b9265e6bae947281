"""Values in Kubernetes JSON that are not known yet, and their paths."""

from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any, Final


class Unknown(Enum):
    """A value that the engine does not know yet."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN


def unknown_paths(value: Any, path: str) -> Iterator[str]:
    """Paths of unknown values in the value at `path`: containers[0].resources."""
    if value is UNKNOWN:
        yield path
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield from unknown_paths(inner, f"{path}.{key}")
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for index, inner in enumerate(value):
            yield from unknown_paths(inner, f"{path}[{index}]")


def has_unknown(value: Any) -> bool:
    return any(True for _ in unknown_paths(value, ""))


def mapping_at(where: Any, key: str) -> Mapping[str, Any]:
    """The mapping under a key; empty if it is unknown, missing or of another type. So is `list_at`."""
    value = where.get(key) if isinstance(where, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def list_at(where: Any, key: str) -> Sequence[Any]:
    value = where.get(key) if isinstance(where, Mapping) else None
    return value if isinstance(value, Sequence) and not isinstance(value, str) else ()
