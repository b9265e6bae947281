"""Reads nodes declared by the stack itself, if the pack's configuration has no fleet. Pure.

Only GPU feature discovery labels show a node's GPU and driver. Everything unlabelled is
unknown: rules that need it then cannot prove anything.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any, Final

from compat import CaseError
from fleet import labels
from fleet.nodes import Node
from fleet.pools import PoolGpus, read_node
from fleet.quantities import known_amounts
from fleet.unknown import mapping_at
from policies.model import Coverage, Site

# The older labels of the driver's three version parts, still in use.
PARTS: Final = tuple(f"{labels.NVIDIA_PREFIX}cuda.driver.{part}" for part in ("major", "minor", "rev"))
COUNT: Final = f"{labels.NVIDIA_PREFIX}gpu.count"


@dataclass(frozen=True, slots=True)
class StackNode:
    """A node in the scheduler's view, and its GPUs according to labels."""

    node: Node
    gpus: PoolGpus


class _Roomy(dict[str, Decimal]):
    """Node amounts. A missing one is unknown and excludes no pod."""

    def get(self, key: str, _: Any = None) -> Any:
        return super().get(key, Decimal("Infinity"))


def stack_node(name: str, inputs: Mapping[str, Any]) -> StackNode:
    """A Node resource. Nodes with the same GPU and driver are one pool, named after both."""
    metadata, spec, status = (mapping_at(inputs, key) for key in ("metadata", "spec", "status"))
    known = {key: value for key, value in mapping_at(metadata, "labels").items() if isinstance(value, str)}
    product, driver = known.get(labels.GFD_PRODUCT, ""), _driver(known)
    amounts = {**mapping_at(status, "capacity"), **mapping_at(status, "allocatable")}
    if COUNT in known:
        amounts.setdefault(labels.GPU_RESOURCE, known[COUNT])
    taints = spec.get("taints")
    return StackNode(
        Node(
            name=metadata["name"] if isinstance(metadata.get("name"), str) else name,
            pool=" ".join(filter(None, (product, driver))) or "without labels of its GPU",
            labels=known,
            taints=[each for each in taints if isinstance(each, Mapping)] if isinstance(taints, list) else [],
            allocatable=_Roomy(known_amounts(amounts)),
            is_cordoned=spec.get("unschedulable") is True,
        ),
        _gpus(product, driver),
    )


def with_nodes(site: Site, nodes: Sequence[StackNode]) -> Site:
    """The site with these nodes, unless nodes are described already."""
    if site.coverage is not Coverage.SOME or not nodes:
        return site
    return replace(
        site,
        nodes=tuple(each.node for each in nodes),
        gpus={each.node.pool: each.gpus for each in nodes},
    )


def _gpus(product: str, driver: str) -> PoolGpus:
    try:
        return PoolGpus(read_node(product, driver))
    except CaseError as error:
        found = (
            " ".join(filter(None, (each.field, each.value and f'"{each.value}"', each.reason)))
            for each in error.problems
        )
        return PoolGpus(None, unread=f"the labels of its nodes are not enough: {'; '.join(found)}")


def _driver(known: Mapping[str, str]) -> str:
    parts = [known[part] for part in PARTS if known.get(part)]
    return known.get(labels.GFD_DRIVER) or (".".join(parts) if len(parts) > 1 else "")
