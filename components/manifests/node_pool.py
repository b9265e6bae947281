"""What a node pool declares about its nodes, as the fields of a Kubernetes Node. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from components import labels


def node_labels(pool: str, driver: Any, toolkit: Any, extra: Mapping[str, str]) -> dict[str, Any]:
    """Labels this project owns on a node; a site's own come after and may not take ours over.

    Raises ValueError when an extra label is one of ours or belongs to GPU feature discovery.
    """
    for key in extra:
        if key.startswith((labels.OWN_PREFIX, labels.NVIDIA_PREFIX)):
            raise ValueError(f'label "{key}" has another owner: {labels.OWN_PREFIX} is ours, nvidia.com/ is discovered')
    return {labels.POOL: pool, labels.DRIVER: driver, labels.TOOLKIT: toolkit, **extra}


def node_taints(extra: Sequence[Mapping[str, str]]) -> list[dict[str, str]]:
    """The GPU taint, then the site's own, as NodeSpec.taints."""
    return [asdict(labels.GPU_TAINT), *(dict(taint) for taint in extra)]


def differing_nodes(declared: str, reported: Mapping[str, str | None]) -> list[str]:
    """Nodes that report another driver than the declared one; a node that reports none is not accused."""
    return sorted(node for node, driver in reported.items() if driver is not None and driver != declared)
