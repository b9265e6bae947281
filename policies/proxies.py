"""Values of the policy SDK as plain Python: proxies, unknowns and floats end here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_policy.proxy import UnknownValueError

from fleet.unknown import UNKNOWN


def plain(value: Any) -> Any:
    """A value of the SDK as plain Python: proxies are dicts and lists, whole floats are ints, unknowns are UNKNOWN.

    Touching an unknown raises inside the SDK and would end the policy with a mere note; here it is a value.
    """
    if isinstance(value, str | bool) or value is None:
        return value  # most are; asking whether it is a mapping takes longer
    if isinstance(value, Mapping):
        return {str(key): _item(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, bytes):
        return [_item(value, index) for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _item(container: Any, key: Any) -> Any:
    try:
        return plain(container[key])
    except UnknownValueError:
        return UNKNOWN
