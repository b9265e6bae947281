"""Pool selection of pods, as Kubernetes JSON. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

from fleet import labels


def one_of(pools: Sequence[str]) -> dict[str, Any]:
    """A node selector term: nodes of any of these pools."""
    return {"matchExpressions": [{"key": labels.POOL, "operator": "In", "values": list(pools)}]}


def required(*terms: Mapping[str, Any]) -> dict[str, Any]:
    """A pod's required affinity to nodes matching any term."""
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [dict(t) for t in terms]}
        }
    }
