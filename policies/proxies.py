"""Policy SDK values as plain Python, without proxies, unknowns and floats."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pulumi_policy.proxy import UnknownValueError

from fleet.unknown import UNKNOWN


def plain(value: Any) -> Any:
    """An SDK value as plain Python: proxies become dicts and lists, whole floats ints, unknowns UNKNOWN.

    Touching an unknown raises in the SDK and would end the policy with a mere note; here it is a value.
    """
    if isinstance(value, str | bool) or value is None:
        return value  # most are; a mapping check takes longer
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
