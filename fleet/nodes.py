"""Nodes as the scheduler sees them, and what machines report to the API server."""

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
    """An empty node: its labels, taints (Kubernetes JSON) and allocatable resources. Cordoned: it takes no pods.

    Labels and resources not listed do not exist, unless `open_labels` or `is_amount_open` leaves them open.
    """

    name: str
    pool: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    allocatable: Mapping[str, Decimal]
    is_cordoned: bool = False
    open_labels: str | tuple[str, ...] | None = None  # labels with these prefixes may exist too, with any value
    is_amount_open: bool = False  # it may have any amount of other resources
    about: Mapping[str, range] = field(default_factory=dict)  # labels of which only a range is known
    variant: str = ""  # the part of its pool with the same facts, if the pool is mixed

    @property
    def alike(self) -> str:
        """Name of the nodes with the same facts as this one: its pool, or a part of it."""
        return self.variant or self.pool

    def label(self, key: str) -> str | Unknown | None:
        """Its value; None if the node lacks it."""
        is_open = self.open_labels is not None and key.startswith(self.open_labels)
        may_be_there = is_open or key in self.about
        return self.labels.get(key, UNKNOWN if may_be_there else None)

    def amount(self, name: str) -> Decimal | Unknown:
        """Its amount of a resource."""
        return self.allocatable.get(name, UNKNOWN if self.is_amount_open else Decimal(0))


def reported_labels(name: str, gpus: NodeGpus | None) -> dict[str, str]:
    """Labels that the kubelet sets and, on machines with GPUs, GPU feature discovery."""
    return {
        "kubernetes.io/hostname": name,
        OS: LINUX,
        ARCH: "amd64",
        **(gpus.discovered_labels if gpus else {}),
    }


def capacity(*, cpu: float, memory_gib: float, disk_gib: float, gpus: int) -> dict[str, str]:
    """Node capacity for pods, as Kubernetes writes it."""
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
    reported.pop(GFD_MEMORY, None)  # a card reports slightly less than its nominal size, depending on the driver
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
