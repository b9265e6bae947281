"""Cloud instance pools of a stack file."""

from typing import Final, Literal

from pydantic import Field

from compat.facts.rows import GpuModel
from compat.values.versions import DriverVersion
from fleet.pools import NodeGpus
from imaging.size.estimate import MB
from platforms.aws.instance_group import InstanceGroupKeys
from platforms.aws.volumes import volume_problems
from platforms.node_keys import DefaultRuntime, DiskRate, PullRate
from settings.pool import Pool
from settings.values import Assumptions

MIB: Final = 2**20


class InstancePool(InstanceGroupKeys, Pool):
    """Alike instances, between a minimum and a maximum number."""

    gpus_by: Literal["device_plugin", "claims"] = Field(
        "device_plugin",
        description="How pods request the GPUs: device_plugin, by nvidia.com/gpu; claims, by claims of NVIDIA's driver "
        "for dynamic resource allocation (DRA), which the site installs.",
    )
    default_runtime: DefaultRuntime = None
    pull_mb_per_s: PullRate = None
    disk_mb_per_s: DiskRate = None
    assumptions: Assumptions = ()

    @property
    def by_claims(self) -> bool:
        """Whether pods get its GPUs by claims."""
        return self.gpus_by == "claims"

    @property
    def gpu(self) -> GpuModel | None:
        """Its GPU model."""
        return self.shape.gpu

    @property
    def gpus_per_node(self) -> int:
        """GPUs per node; a fraction counts as one."""
        return self.shape.schedulable_gpus

    @property
    def driver(self) -> DriverVersion | None:
        """Initial version."""
        return self.node_image.driver if self.gpu else None

    @property
    def container_toolkit(self) -> str | None:
        """Initial version."""
        return (self.node_image.container_toolkit or None) if self.gpu else None

    @property
    def architecture(self) -> str:
        """Processor architecture."""
        return self.shape.architecture

    @property
    def cpu(self) -> float:
        """Of its smallest type."""
        return self.shape.vcpu

    @property
    def memory_gib(self) -> float:
        """Of its smallest type."""
        return float(self.shape.memory_gib)

    @property
    def node_names(self) -> tuple[str, ...]:
        """Placeholder names for all possible instances: AWS assigns others."""
        return tuple(f"{self.name}-{number}" for number in range(1, self.max + 1))

    @property
    def gpus_of_node(self) -> NodeGpus | None:
        """GPUs per instance and their driver; None without GPUs."""
        if self.gpu is None or self.driver is None:
            return None
        return NodeGpus(self.gpu, self.gpus_per_node, self.driver, self.container_toolkit)

    @property
    def stated_rates(self) -> dict[str, float]:
        """The volume's throughput as disk rate, unless measured."""
        return {"disk_mb_per_s": round(self.volume.throughput * MIB / MB), **super().stated_rates}

    @property
    def are_rates_planned(self) -> bool:
        """A volume's limit is not a measurement."""
        stated = super().stated_rates
        return not stated or bool(stated.keys() & set(self.assumptions))

    @property
    def slow_disk(self) -> str:
        """A volume that would delay parallel pulls."""
        found = volume_problems(self.volume, 0, parallel_pulls=self.parallel_pulls)
        return next((f"{each.reason}: {each.fix}" for each in found if each.is_slow), "")
