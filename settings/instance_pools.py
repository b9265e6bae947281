"""Pools of instances that a cloud starts, in a stack file."""

from compat.rows import GpuModel
from compat.versions import DriverVersion
from fleet.pools import NodeGpus, Variant
from kube.instance_group import InstanceGroupKeys
from kube.node_keys import DefaultRuntime, DiskRate, PullRate
from settings.pool import Pool
from settings.values import Assumptions


class InstancePool(InstanceGroupKeys, Pool):
    """Instances that are alike, between a least and a greatest number of them."""

    default_runtime: DefaultRuntime = None
    pull_mb_per_s: PullRate = None
    disk_mb_per_s: DiskRate = None
    assumptions: Assumptions = ()

    @property
    def gpu(self) -> GpuModel | None:
        """The model of its GPUs."""
        return self.shape.gpu

    @property
    def gpus_per_node(self) -> int:
        """GPUs that a node offers; a share of one counts as one."""
        return self.shape.schedulable_gpus

    @property
    def driver(self) -> DriverVersion | None:
        """What the nodes start with."""
        return self.node_image.driver if self.gpu else None

    @property
    def container_toolkit(self) -> str | None:
        """What the nodes start with."""
        return self.node_image.container_toolkit if self.gpu else None

    @property
    def cpu(self) -> float:
        """Of the smallest of its types."""
        return self.shape.vcpu

    @property
    def memory_gib(self) -> float:
        """Of the smallest of its types."""
        return float(self.shape.memory_gib)

    @property
    def node_names(self) -> tuple[str, ...]:
        """A name for each instance that may run: AWS gives others when it starts them."""
        return tuple(f"{self.name}-{number}" for number in range(1, self.max + 1))

    @property
    def gpus_of_node(self) -> NodeGpus | None:
        """GPUs of each instance and what drives them; None where they have none."""
        if self.gpu is None or self.driver is None:
            return None
        return NodeGpus(self.gpu, self.gpus_per_node, self.driver, self.container_toolkit or "")

    def variants(self) -> tuple[Variant, ...]:
        """All are alike."""
        return (Variant(self.name, self.name, self.node_names, self.gpus_of_node),)
