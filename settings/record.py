"""Decisions in a stack file that no component records, as plain values for a StackRecord.

It includes everything in the models except what is left out by name below: new keys are recorded
automatically.
"""

from collections.abc import Mapping
from typing import Any, Final

from settings.models import Stack

# Inputs of the pools' own resources, where a change shows.
_OF_POOLS: Final = frozenset(
    {
        "gpu",
        "gpus_per_node",
        "nodes",
        "nodes_except",
        "driver",
        "container_toolkit",
        "node_overrides",
        "labels",
        "taints",
    }
)
_OF_IMAGES: Final = frozenset({"registry", "substitutes", "builder", "ca_bundle"})
_OF_HUBS: Final = frozenset({"core_pool", "authenticator"})
# Newer site keys: older stacks recorded none, and their next preview should show no change.
_CAME_LATER: Final[Mapping[str, Any]] = {"kind": "kubernetes", "engines": {}}
# Without effect: who knows a value, and a sum that the pools must have anyway.
_REMARKS: Final = frozenset({"assumptions", "total_gpus"})


def decisions(stack: Stack) -> dict[str, Any]:
    """Arguments of the stack's StackRecord: stack file sections without what other components record."""
    written = stack.model_dump(mode="json", by_alias=True, exclude_none=True)
    site, fleet, policies = written["site"], written["fleet"], written["policies"]
    known = (_OF_IMAGES if stack.images else frozenset()) | (_OF_HUBS if stack.hubs else frozenset())
    shown = frozenset() if stack.fleet.managed_by else _OF_POOLS
    # Partition nodes have no resource: they belong to the site.
    fleet["pools"] = [_without(pool, frozenset() if "partition" in pool else shown) for pool in fleet["pools"]]
    policies["waivers"] = {f"{each.pop('rule')} of {each.pop('resource')}": each for each in policies["waivers"]}
    unwritten = {key for key, default in _CAME_LATER.items() if site.get(key) == default}
    found = {
        "site": _without(site, known | unwritten),
        "fleet": fleet,
        "images": {
            image.full_name: {"limit": each["limit"]}
            for image, each in zip(stack.images, written["images"], strict=True)
            if "limit" in each
        },
        "policies": policies,
    }
    return {key: value for key, value in _plain(found).items() if value}


def _without(section: Mapping[str, Any], keys: frozenset[str]) -> dict[str, Any]:
    return {key: value for key, value in section.items() if key not in keys}


def _plain(value: Any) -> Any:
    """Without remarks; 36.0 becomes 36, as written."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items() if key not in _REMARKS}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
