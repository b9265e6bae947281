"""What every pool of a stack file says, whoever owns its machines."""

from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from fleet.labels import Taint as NodeTaint
from kube.names import Name
from kube.node_keys import DefaultRuntime, DiskRate, Labels, PullRate, Taints
from messages.faults import FORM

if TYPE_CHECKING:
    from compat.rows import GpuModel
    from compat.versions import DriverVersion
    from fleet.pools import NodeGpus, Variant


class Pool(BaseModel):
    """Nodes that are alike. Each kind of pool has these values: some say them, others derive them."""

    model_config = FORM
    name: Name = Field(description="Name of the pool; becomes the label gpu-commons.org/pool.")

    if TYPE_CHECKING:
        assumptions: tuple[str, ...]
        default_runtime: DefaultRuntime
        pull_mb_per_s: PullRate
        disk_mb_per_s: DiskRate
        labels: Labels
        extra_taints: Taints

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
        def variants(self) -> tuple[Variant, ...]: ...

    @property
    def taints(self) -> tuple[NodeTaint, ...]:
        """Taints beside the one for GPUs."""
        return tuple(NodeTaint(taint.key, taint.value, taint.effect) for taint in self.extra_taints)

    @property
    def stated_rates(self) -> dict[str, float]:
        """What a node does in a second, as far as the stack file says it: arguments of `images.size.estimate.Rates`."""
        rates = {"pull_mb_per_s": self.pull_mb_per_s, "disk_mb_per_s": self.disk_mb_per_s}
        return {name: float(value) for name, value in rates.items() if value is not None}

    @property
    def slow_disk(self) -> str:
        """Why nodes start later than they could; empty where nothing is known to slow them."""
        return ""

    @property
    def are_rates_planned(self) -> bool:
        """Nobody has measured them here: none is stated, or one is an assumption."""
        return not self.stated_rates or bool(self.stated_rates.keys() & set(self.assumptions))

    @property
    def gpus(self) -> int:
        """GPUs of all nodes together."""
        return len(self.node_names) * self.gpus_per_node
