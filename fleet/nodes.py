"""Nodes: as the scheduler sees one, and what a machine reports of itself to the API server."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Final

from fleet.labels import ARCH, GFD_MEMORY, GPU_RESOURCE, LINUX, OS, Taint, pool_labels, reported_memory
from fleet.pools import NodeGpus, Variant
from fleet.quantities import known_amounts
from fleet.unknown import UNKNOWN, Unknown

MOST_PODS: Final = 110  # of one node; the kubelet's own default


@dataclass(frozen=True, slots=True)
class Node:
    """One node, empty: its labels, taints (Kubernetes JSON) and allocatable resources. Cordoned: it takes no pods.

    What stands in neither `labels` nor `allocatable` is not there, unless one of the last two fields leaves it open.
    """

    name: str
    pool: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    allocatable: Mapping[str, Decimal]
    is_cordoned: bool = False
    open_labels: str | tuple[str, ...] | None = None  # labels with such a prefix may be there too, with any value
    is_amount_open: bool = False  # it may have any amount of other resources
    about: Mapping[str, range] = field(default_factory=dict)  # labels of which no more is known than a range
    variant: str = ""  # nodes of its pool with the same facts, where not all have the same

    @property
    def alike(self) -> str:
        """The nodes that have the same facts as this one, by name: its pool, or a part of it."""
        return self.variant or self.pool

    def label(self, key: str) -> str | Unknown | None:
        """Its value; None where the node has none."""
        is_open = self.open_labels is not None and key.startswith(self.open_labels)
        may_be_there = is_open or key in self.about
        return self.labels.get(key, UNKNOWN if may_be_there else None)

    def amount(self, name: str) -> Decimal | Unknown:
        """What it has of a resource."""
        return self.allocatable.get(name, UNKNOWN if self.is_amount_open else Decimal(0))


def reported_labels(name: str, gpus: NodeGpus | None) -> dict[str, str]:
    """Labels that the kubelet of a machine sets, and GPU feature discovery where it has GPUs."""
    return {
        "kubernetes.io/hostname": name,
        OS: LINUX,
        ARCH: "amd64",
        **(gpus.discovered_labels if gpus else {}),
    }


def capacity(*, cpu: float, memory_gib: float, disk_gib: float, gpus: int) -> dict[str, str]:
    """What a node has for pods, as Kubernetes writes it."""
    return {
        "cpu": f"{cpu:.10g}",
        "memory": f"{memory_gib:.10g}Gi",
        "ephemeral-storage": f"{disk_gib:.10g}Gi",
        "pods": str(MOST_PODS),
        **({GPU_RESOURCE: str(gpus)} if gpus else {}),
    }


def declared_node(
    name: str, its: Variant, has: Mapping[str, str], *, labels: Mapping[str, str], taints: Iterable[Taint]
) -> Node:
    """A node as its pool declares it, with what its machine will report. `has`: see `capacity`."""
    reported = reported_labels(name, its.gpus)
    reported.pop(GFD_MEMORY, None)  # a card reports a little less than what its maker says, and it differs by driver
    gpus = its.gpus
    return Node(
        name=name,
        pool=its.pool,
        variant=its.name,
        labels={
            **reported,
            # Under their old names too: the kubelet still sets them.
            f"beta.{OS}": reported[OS],
            f"beta.{ARCH}": reported[ARCH],
            **pool_labels(its.pool, *((gpus.driver, gpus.container_toolkit) if gpus else ())),
            **labels,
        },
        about={GFD_MEMORY: reported_memory(gpus.model)} if gpus else {},
        taints=[asdict(taint) for taint in taints],
        allocatable={GPU_RESOURCE: Decimal(0), **known_amounts(has)},
    )
