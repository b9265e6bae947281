"""Converts Pulumi's property values: protobuf `Struct` <-> plain Python with secrets and unknowns. Pure.

Plain Python here means None, bool, int, float, str, list and dict, plus `UNKNOWN` and `Secret`. The signatures are
those of sdk/go/common/resource/properties.go and sdk/go/common/resource/plugin/rpc.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

from google.protobuf import struct_pb2

from cli.engine_values import SECRET_SIGNATURE, SIGNATURE_KEY, UNKNOWN_SENTINELS

OUTPUT_SIGNATURE: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
RESOURCE_SIGNATURE: Final = "5cf8f73096256a8f31e491e813e4eb8e"

UNKNOWN_STRING: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"

Properties = dict[str, Any]


class Unknown(Enum):
    """A value that a preview does not know yet. One member, so that `is UNKNOWN` narrows the type."""

    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class Secret:
    """A value that must not be shown; its repr hides it, so that no log line or message can leak it."""

    value: Any

    def __repr__(self) -> str:
        return "Secret([secret])"


def from_struct(struct: struct_pb2.Struct) -> Properties:
    """A message's properties; whole numbers become int, because protobuf only has doubles."""
    return {key: _decode(value) for key, value in struct.fields.items()}


def _decode(value: struct_pb2.Value) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "string_value":
        return UNKNOWN if value.string_value in UNKNOWN_SENTINELS else value.string_value
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "bool_value":
        return value.bool_value
    if kind == "list_value":
        return [_decode(item) for item in value.list_value.values]
    if kind == "struct_value":
        return _decode_object(value.struct_value)
    return None


def _decode_object(struct: struct_pb2.Struct) -> Any:
    fields = from_struct(struct)
    match fields.get(SIGNATURE_KEY):
        case str(signature) if signature == SECRET_SIGNATURE:
            return Secret(plain(fields.get("value")))  # a secret inside a secret adds nothing
        case str(signature) if signature == OUTPUT_SIGNATURE:
            value = fields.get("value", UNKNOWN)
            return Secret(plain(value)) if fields.get("secret") else value
        case str(signature) if signature == RESOURCE_SIGNATURE:
            return fields.get("id") or fields.get("urn")
    return fields  # assets and archives keep their signature and pass through unchanged


def to_struct(properties: Mapping[str, Any]) -> struct_pb2.Struct:
    return struct_pb2.Struct(fields={key: _encode(value) for key, value in properties.items()})


def _encode(value: Any) -> struct_pb2.Value:  # noqa: PLR0911 - one return for each kind of value
    if value is UNKNOWN:
        return struct_pb2.Value(string_value=UNKNOWN_STRING)
    if isinstance(value, Secret):
        return _encode({SIGNATURE_KEY: SECRET_SIGNATURE, "value": value.value})
    if isinstance(value, bool):
        return struct_pb2.Value(bool_value=value)
    if isinstance(value, int | float):
        return struct_pb2.Value(number_value=value)
    if isinstance(value, str):
        return struct_pb2.Value(string_value=value)
    if isinstance(value, Mapping):
        return struct_pb2.Value(struct_value=to_struct(value))
    if isinstance(value, list | tuple):
        return struct_pb2.Value(list_value=struct_pb2.ListValue(values=[_encode(item) for item in value]))
    if value is None:
        return struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
    raise TypeError(f"{type(value).__name__} is not a property value")


def _rebuilt(value: Any, leaf: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: _rebuilt(item, leaf) for key, item in value.items()}
    if isinstance(value, list):
        return [_rebuilt(item, leaf) for item in value]
    return leaf(value)


def plain(value: Any) -> Any:
    """The same value without secret marks. The result may be sent to a server, never to a log."""
    return _rebuilt(value, lambda leaf: plain(leaf.value) if isinstance(leaf, Secret) else leaf)


def without_unknowns(value: Any) -> Any:
    """The same value without unknown dictionary entries and list items."""
    if isinstance(value, dict):
        return {key: without_unknowns(item) for key, item in value.items() if item is not UNKNOWN}
    if isinstance(value, list):
        return [without_unknowns(item) for item in value if item is not UNKNOWN]
    return value


def without_nulls(value: Any) -> Any:
    """The same value without null dictionary entries, which Pulumi's SDKs send for "not set"."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in value]
    return Secret(without_nulls(value.value)) if isinstance(value, Secret) else value


def leaves(value: Any) -> Iterator[Any]:
    """Every value that is neither a dictionary nor a list; secrets are not entered."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list):
        for item in value:
            yield from leaves(item)
    else:
        yield value


def has_unknown(value: Any) -> bool:
    """Whether any part is not known yet, even inside a secret."""
    return any(leaf is UNKNOWN or (isinstance(leaf, Secret) and has_unknown(leaf.value)) for leaf in leaves(value))


def has_secret(value: Any) -> bool:
    return any(isinstance(leaf, Secret) for leaf in leaves(value))


def marked_like(value: Any, pattern: Any) -> Any:
    """`value` with a secret mark wherever `pattern` has one at the same place.

    A list is marked as a whole if its pattern has a secret but another length: items may have moved.
    """
    if isinstance(pattern, Secret):
        return value if isinstance(value, Secret) or value is None else Secret(value)
    if isinstance(value, dict) and isinstance(pattern, dict):
        return {key: marked_like(item, pattern.get(key)) for key, item in value.items()}
    if isinstance(value, list) and isinstance(pattern, list) and has_secret(pattern):
        if len(value) != len(pattern):
            return Secret(plain(value))
        return [marked_like(item, like) for item, like in zip(value, pattern, strict=True)]
    return value
