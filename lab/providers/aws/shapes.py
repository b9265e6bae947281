"""Converts between Pulumi's properties and a service's parameters by botocore's model of it. Pure.

`httpTokens` is the member `HttpTokens`; a map of tags is a list of `Key` and `Value`; "true" is a boolean where the
service wants one, because the SDK has texts in some such places. The SDK's names are Terraform's, in camel case.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from lab.providers.aws.templates import Given
from lab.providers.values import UNKNOWN, Properties, Secret

Renames = Mapping[str, str]


class MisfitError(ValueError):
    """A value does not fit the service: `path` is where, as the user wrote it."""

    def __init__(self, path: str, reason: str, allowed: list[str] | None = None) -> None:
        super().__init__(f"{path}: {reason}")
        self.path = path
        self.reason = reason
        self.allowed = allowed or []


def to_service(value: Any, shape: Any, path: str, renames: Renames) -> Any:  # noqa: PLR0911 - one for each kind of shape
    """A property's value in the service's form. Raises MisfitError."""
    if isinstance(value, Given):
        return to_service(value.value, shape, value.name, renames)
    if value is UNKNOWN:
        return UNKNOWN
    if isinstance(value, Secret):
        return to_service(value.value, shape, path, renames)
    if shape.type_name == "structure":
        return _structure(value, shape, path, renames)
    if shape.type_name == "list":
        return _list(value, shape, path, renames)
    if shape.type_name == "map":
        if not isinstance(value, dict):
            raise MisfitError(path, "must be a map")
        return {key: to_service(each, shape.value, f"{path}.{key}", renames) for key, each in value.items()}
    return _scalar(value, shape.type_name, path)


def _structure(value: Any, shape: Any, path: str, renames: Renames) -> Properties:
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if not isinstance(value, dict):
        raise MisfitError(path, "must be an object")
    members = {name.lower(): name for name in shape.members}
    made = {}
    for key, each in value.items():
        member = renames.get(key, "") if renames.get(key) in shape.members else members.get(key.lower())
        if member is None:
            known = sorted(to_property(name, shape, renames) for name in shape.members)
            raise MisfitError(f"{path}.{key}" if path else key, "is not a property here", known)
        if each is not None:
            made[member] = to_service(each, shape.members[member], f"{path}.{key}" if path else key, renames)
    return made


def _list(value: Any, shape: Any, path: str, renames: Renames) -> list[Any]:
    if _is_tags(shape) and isinstance(value, dict):
        return [{"Key": key, "Value": str(each)} for key, each in value.items()]
    if _is_tags(shape) and isinstance(value, list) and all(isinstance(each, str) for each in value):
        return [{"Key": each} for each in value]  # only keys: what to remove
    if isinstance(value, dict):
        value = [value]  # Terraform's list of at most one item, an object in Pulumi
    if not isinstance(value, list):
        raise MisfitError(path, "must be a list")
    return [to_service(each, shape.member, f"{path}[{index}]", renames) for index, each in enumerate(value)]


def _scalar(value: Any, kind: str, path: str) -> Any:
    if kind == "boolean" and isinstance(value, str) and value in ("true", "false"):
        return value == "true"
    if kind == "boolean" and not isinstance(value, bool):
        raise MisfitError(path, "must be true or false")
    if kind in ("integer", "long"):
        try:
            return int(value)
        except (TypeError, ValueError):
            raise MisfitError(path, "must be a whole number") from None
    if kind == "string" and isinstance(value, bool | int | float):
        return str(value).lower() if isinstance(value, bool) else str(value)
    if kind == "string" and not isinstance(value, str):
        raise MisfitError(path, "must be a text")
    return value


def _is_tags(shape: Any) -> bool:
    """Whether a list is a map of tags; `DescribeTags` also names each tag's owner."""
    members = set(shape.member.members) if shape.member.type_name == "structure" else set()
    return {"Key", "Value"} <= members <= {"Key", "Value", "ResourceId", "ResourceType"}


def to_property(member: str, shape: Any, renames: Renames) -> str:
    """Pulumi's name for a member of a structure."""
    for ours, theirs in renames.items():
        if theirs == member and theirs in shape.members:
            return ours
    return member[0].lower() + member[1:]


def from_service(value: Any, shape: Any, renames: Renames) -> Any:  # noqa: PLR0911 - one for each kind of shape
    """An answer as Pulumi's properties."""
    if shape.type_name == "structure":
        return {
            to_property(name, shape, renames): from_service(value[name], member, renames)
            for name, member in shape.members.items()
            if isinstance(value, dict) and value.get(name) is not None
        }
    if shape.type_name == "list":
        if _is_tags(shape):
            return {each["Key"]: each.get("Value", "") for each in value if not each["Key"].startswith("aws:")}
        return [from_service(each, shape.member, renames) for each in value]
    if shape.type_name == "map":
        return {key: from_service(each, shape.value, renames) for key, each in value.items()}
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%dT%H:%M:%SZ")
    if isinstance(value, bytes):
        return value.decode()
    return value
