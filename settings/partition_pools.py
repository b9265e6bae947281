"""A pool of a Slurm site: nodes of one partition with one GPU type."""

from collections.abc import Iterator
from typing import ClassVar, Final

from pydantic import Field

from compat.values.versions import parse_release
from errors.agreements import check
from errors.problems import Fault
from fleet.pools import NodeGpus
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

    needs_versions: ClassVar[bool] = False
    default_runtime: ClassVar[None] = None  # for pods only
    labels: ClassVar[Labels] = {}
    extra_taints: ClassVar[Taints] = ()

    @check
    def _keys_of_its_gpus(self) -> Iterator[Fault]:
        if self.container_toolkit is not None:
            fix = "leave it out: Apptainer and SingularityCE bind the driver's files themselves"
            yield Fault(("container_toolkit",), "is given for a partition of Slurm", fix)
        if self.gres is not None and self.gpu is None:
            yield Fault(("gres",), "is given for a pool without gpu", "add gpu and gpus_per_node, or leave it out")

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
