"""Common model of all stack file pools, for any machine owner."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, ClassVar, Final

from pydantic import BaseModel, Field

from errors.agreements import check
from errors.faults import FORM
from errors.problems import Fault
from fleet.labels import Taint as NodeTaint
from fleet.pools import NodeGpus, Variant
from platforms.node_keys import DefaultRuntime, DiskRate, Labels, PoolName, PullRate, Taints
from settings.values import Driver, Gpu, ToolkitVersion
from workloads.amounts import Cores, Gib

if TYPE_CHECKING:
    from compat.facts.rows import GpuModel
    from compat.values.versions import DriverVersion


class Pool(BaseModel):
    """Alike nodes. Each kind of pool has these values, some declared, others derived."""

    model_config = FORM
    name: PoolName

    if TYPE_CHECKING:
        assumptions: tuple[str, ...]
        pull_mb_per_s: PullRate
        disk_mb_per_s: DiskRate

        @property
        def default_runtime(self) -> DefaultRuntime: ...
        @property
        def labels(self) -> Labels: ...
        @property
        def extra_taints(self) -> Taints: ...
        @property
        def gpu(self) -> GpuModel | None: ...
        @property
        def gpus_per_node(self) -> int: ...
        @property
        def driver(self) -> DriverVersion | None: ...
        @property
        def container_toolkit(self) -> str | None: ...
        @property
        def cpu(self) -> float: ...
        @property
        def memory_gib(self) -> float: ...
        @property
        def root_disk_gib(self) -> float: ...
        @property
        def node_names(self) -> tuple[str, ...]: ...
        @property
        def gpus_of_node(self) -> NodeGpus | None: ...

    def variants(self) -> tuple[Variant, ...]:
        """Groups of nodes with the same facts: all are alike."""
        return (Variant(self.name, self.name, self.node_names, self.gpus_of_node),)

    @property
    def taints(self) -> tuple[NodeTaint, ...]:
        """Taints besides the GPU taint."""
        return tuple(NodeTaint(taint.key, taint.value, taint.effect) for taint in self.extra_taints)

    @property
    def stated_rates(self) -> dict[str, float]:
        """Declared rates of a node: arguments of `imaging.size.estimate.Rates`."""
        rates = {"pull_mb_per_s": self.pull_mb_per_s, "disk_mb_per_s": self.disk_mb_per_s}
        return {name: float(value) for name, value in rates.items() if value is not None}

    @property
    def architecture(self) -> str:
        """Node processor."""
        return "amd64"

    @property
    def slow_disk(self) -> str:
        """Why nodes start later than possible; empty if no cause is known."""
        return ""

    @property
    def are_rates_planned(self) -> bool:
        """Not measured here: none is stated, or one is an assumption."""
        return not self.stated_rates or bool(self.stated_rates.keys() & set(self.assumptions))

    @property
    def gpus(self) -> int:
        """GPUs of all nodes."""
        return len(self.node_names) * self.gpus_per_node


WITH_GPUS: Final = {  # keys required with `gpu` and forbidden without
    "driver": 'NVIDIA driver on these nodes, quoted: "418.88"',
    "container_toolkit": 'NVIDIA container toolkit on these nodes, quoted: "1.17.8"',
}


class MachinePool(Pool):
    """Owned machines: their facts are declared, not derived."""

    needs_versions: ClassVar[bool] = True  # otherwise they are unknown until somebody looks them up

    gpu: Gpu | None = Field(
        None,
        description="GPU model, as people write it: GeForce GTX 1080 Ti; none: these nodes have no GPU, and need "
        "neither driver nor container_toolkit.",
    )
    gpus_per_node: int = Field(0, ge=0, le=64, description="GPUs on each node of this pool; 0 without gpu.")
    driver: Driver | None = Field(
        None, description='NVIDIA driver on these nodes, quoted: "418.88"; needed with gpu, refused without.'
    )
    container_toolkit: ToolkitVersion | None = Field(
        None, description='NVIDIA container toolkit on these nodes, quoted: "1.17.8"; needed with gpu, refused without.'
    )
    cpu: Cores = Field(description="CPU cores of one node.")
    memory_gib: Gib = Field(description="Memory of one node in GiB.")
    root_disk_gib: Gib = Field(description="Disk of one node that holds images and containers, in GiB.")
    pull_mb_per_s: PullRate = None
    disk_mb_per_s: DiskRate = None

    @check
    def _all_or_none(self) -> Iterator[Fault]:
        """A pool declares all GPU keys, or none."""
        has_count = "gpus_per_node" in self.model_fields_set
        if self.gpu is not None and not has_count:
            yield Fault(("gpus_per_node",), "is missing", "add gpus_per_node: GPUs on each node of this pool")
        elif self.gpu is not None and self.gpus_per_node == 0:
            fix = "write how many GPUs each node has; for nodes without GPUs leave gpu out as well"
            yield Fault(("gpus_per_node",), "is out of range: 1 or more is allowed with gpu", fix, 0)
        elif self.gpu is None and self.gpus_per_node > 0:
            fix = 'add the model, such as gpu: "GeForce GTX 1080 Ti", or, for nodes without GPUs, remove gpus_per_node'
            yield Fault(("gpu",), "is missing", fix)

    @check
    def _versions_with_gpus(self) -> Iterator[Fault]:
        for key, what in WITH_GPUS.items():
            value = getattr(self, key)
            if self.gpu is not None and value is None and self.needs_versions:
                yield Fault((key,), "is missing", f"add {key}: {what}")
            elif self.gpu is None and self.gpus_per_node == 0 and value is not None:
                fix = f"add gpu and gpus_per_node, or leave {key} out: nodes without GPUs have none"
                yield Fault((key,), "is given for a pool without gpu", fix, str(value))

    @property
    def gpus_of_node(self) -> NodeGpus | None:
        """Declared GPUs of each node; None without GPUs."""
        if self.gpu is None or self.driver is None or self.container_toolkit is None:
            return None  # all three or none: ensured by the stack file checks
        return NodeGpus(self.gpu, self.gpus_per_node, self.driver, str(self.container_toolkit))
