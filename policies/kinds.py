"""Parses Kubernetes resource types from the engine, once. Pure."""

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fleet.unknown import UNKNOWN, Unknown
from policies.shapes import is_list

PREFIX: Final = "kubernetes:"


@dataclass(frozen=True, slots=True)
class Kind:
    """The kind and form of a type: kubernetes:core/v1:PersistentVolumeList, a NodePatch."""

    group: str  # core, apps, sparkoperator.k8s.io
    name: str  # Pod: without Patch and List
    is_patch: bool = False
    is_list: bool = False


@functools.cache
def kind_of(token: str) -> Kind | None:
    """None for non-Kubernetes types. A custom resource of `apiVersion: v1` is in the group core."""
    rest = token.removeprefix(PREFIX)
    version, _, name = rest.rpartition(":")
    if rest == token or not version or ":" in version:
        return None
    group = version.partition("/")[0] if "/" in version else "core"
    single = name.removesuffix("Patch").removesuffix("List")
    is_patch = name.endswith("Patch") or single.endswith("Patch")
    return Kind(group or "core", single.removesuffix("Patch"), is_patch, name.removesuffix("Patch").endswith("List"))


def objects(kind: Kind, inputs: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any] | Unknown]]:
    """A list's objects by number, or the single object. A list not known yet is one such object."""
    if not kind.is_list:
        yield 0, inputs
        return
    listed = inputs.get("items")
    for index, each in enumerate((UNKNOWN,) if listed is UNKNOWN else listed if is_list(listed) else ()):
        if isinstance(each, Mapping | Unknown):  # Kubernetes accepts nothing else
            yield index, each
