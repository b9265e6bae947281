"""How pods say on which pools they may land, as Kubernetes JSON. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fleet import labels


def one_of(pools: Sequence[str]) -> dict[str, Any]:
    """A node selector term: nodes of any of these pools."""
    return {"matchExpressions": [{"key": labels.POOL, "operator": "In", "values": list(pools)}]}


def required(*terms: Mapping[str, Any]) -> dict[str, Any]:
    """A pod's affinity to nodes that one of the terms matches."""
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [dict(t) for t in terms]}
        }
    }


def problem(pool: object, pools: object) -> tuple[str, str] | None:
    """What is wrong with two arguments of which one is given at most: the reason, and what to change."""
    if pools is None:
        return None
    if pool is not None:
        return "is given beside pool", "keep one of the two: pool for one pool, pools for several"
    if not isinstance(pools, Sequence) or isinstance(pools, str) or not all(isinstance(each, str) for each in pools):
        return "is not a list of pools", "write their names, such as [gtx1080ti, rtx2080ti]"
    if not pools:
        return "is empty", "name at least one pool, or leave it out"
    if twice := [each for index, each in enumerate(pools) if each in pools[:index]]:
        return f"has {twice[0]} twice", "name each pool once"
    return None
