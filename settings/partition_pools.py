"""A pool of a Slurm site: nodes of one partition with one GPU type."""

from typing import ClassVar, Final

from pydantic import Field

from compat.values.versions import parse_release
from fleet.pools import NodeGpus, Variant
from platforms.node_keys import Labels, Taints
from platforms.slurm.partition_model import PartitionKeys
from settings.pool import MachinePool
from settings.values import Assumptions, Glibc

PROBE: Final = "gpu-commons probe --via-slurm"


class PartitionPool(PartitionKeys, MachinePool):
    """Alike nodes of a partition. Facts not looked up are left out and stay unknown."""

    nodes: int = Field(ge=1, le=10_000, description="How many nodes it has: Slurm chooses among them.")
    glibc: Glibc | None = Field(
        None, description='C library of the nodes, quoted: "2.17", as ldd --version prints it; none: not known.'
    )
    assumptions: Assumptions = ()

    default_runtime: ClassVar[None] = None  # for pods only
    labels: ClassVar[Labels] = {}
    extra_taints: ClassVar[Taints] = ()

    @property
    def node_names(self) -> tuple[str, ...]:
        """Placeholder node names: Slurm has others."""
        return tuple(f"{self.name}-{number}" for number in range(1, self.nodes + 1))

    @property
    def probe(self) -> str:
        """How to get the unknown facts."""
        return f"{PROBE} {self.partition}"

    @property
    def gpus_of_node(self) -> NodeGpus | None:
        """GPUs per node, with the driver only if known; None without GPUs."""
        if self.gpu is None:
            return None
        return NodeGpus(
            self.gpu,
            self.gpus_per_node,
            self.driver,
            None,
            runtime="apptainer",
            glibc=parse_release(self.glibc) if self.glibc else None,
            probe=self.probe,
        )

    def variants(self) -> tuple[Variant, ...]:
        """All alike."""
        return (Variant(self.name, self.name, self.node_names, self.gpus_of_node),)
