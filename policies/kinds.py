"""A resource type of Kubernetes, as the engine writes it, read once. Pure."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fleet.unknown import UNKNOWN, Unknown
from policies.shapes import is_list

PREFIX: Final = "kubernetes:"


@dataclass(frozen=True, slots=True)
class Kind:
    """kubernetes:core/v1:PersistentVolumeList, a NodePatch: of which kind, and in which form."""

    group: str  # core, apps, sparkoperator.k8s.io
    name: str  # Pod: without Patch and List
    is_patch: bool = False
    is_list: bool = False


@functools.cache
def kind_of(token: str) -> Kind | None:
    """None for a type that is no Kubernetes object. A custom resource of `apiVersion: v1` is one of the group core."""
    rest = token.removeprefix(PREFIX)
    version, _, name = rest.rpartition(":")
    if rest == token or not version or ":" in version:
        return None
    group = version.partition("/")[0] if "/" in version else "core"
    single = name.removesuffix("Patch").removesuffix("List")
    is_patch = name.endswith("Patch") or single.endswith("Patch")
    return Kind(group or "core", single.removesuffix("Patch"), is_patch, name.removesuffix("Patch").endswith("List"))


def objects(kind: Kind, inputs: Mapping[str, Any]) -> Iterator[tuple[int, Mapping[str, Any] | Unknown]]:
    """The objects of a list, by number, or the one object. A list that is not known yet is one such object."""
    if not kind.is_list:
        yield 0, inputs
        return
    listed = inputs.get("items")
    for index, each in enumerate((UNKNOWN,) if listed is UNKNOWN else listed if is_list(listed) else ()):
        if isinstance(each, Mapping | Unknown):  # Kubernetes takes nothing else
            yield index, each
