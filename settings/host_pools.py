"""A Docker host of a stack file: one machine with an engine, as a pool of its own."""

from typing import ClassVar

from fleet.pools import Variant
from platforms.docker.host_model import HostKeys
from platforms.node_keys import Labels, Taints
from settings.pool import MachinePool
from settings.values import Assumptions


class HostPool(HostKeys, MachinePool):
    """One machine with a Docker engine and its GPUs."""

    assumptions: Assumptions = ()

    default_runtime: ClassVar[None] = None  # for pods only
    labels: ClassVar[Labels] = {}
    extra_taints: ClassVar[Taints] = ()

    @property
    def node_names(self) -> tuple[str, ...]:
        """The host itself."""
        return (self.name,)

    def variants(self) -> tuple[Variant, ...]:
        """The host itself."""
        return (Variant(self.name, self.name, self.node_names, self.gpus_of_node),)
