"""A Docker host of a stack file: one machine with an engine, as a pool of its own."""

from ipaddress import IPv4Network
from typing import ClassVar

from pydantic import Field

from fleet.pools import Variant
from platforms.docker.addresses import EngineAddress
from platforms.docker.container_model import GpuAccess
from platforms.docker.gpu_leases import CARD_NETWORK, HostGpu
from platforms.node_keys import Labels, Taints
from settings.pool import MachinePool
from settings.values import Assumptions, CardNetwork
from workloads.names import AbsolutePath, Line


class HostPool(MachinePool):
    """One machine with a Docker engine and its GPUs."""

    engine: EngineAddress = Field(
        description="Where its Docker engine answers: unix:///var/run/docker.sock, ssh://user@host or tcp://host:2376."
    )
    certificates: AbsolutePath | None = Field(
        None, description="Folder with ca.pem, cert.pem and key.pem for an engine at tcp://; docker context uses them."
    )
    engine_socket: AbsolutePath | None = Field(
        None,
        description="The engine's socket on the host, for hubs there; none: engine's own, or /var/run/docker.sock.",
    )
    gpu_access: GpuAccess = Field(
        "cdi",
        description="How containers get GPUs: cdi (Docker 25 or later) or runtime (NVIDIA's container runtime).",
    )
    gpu_uuids: tuple[Line, ...] = Field(
        (), description="UUIDs of the GPUs in the order of nvidia-smi -L; none: GPUs are requested by index."
    )
    shared_gpus: bool = Field(
        default=False,
        description="Several containers may use one GPU at a time; otherwise each has its GPUs to itself.",
    )
    card_network: CardNetwork = Field(
        IPv4Network(CARD_NETWORK),
        description="Address range that nothing else uses on the host, four addresses for each GPU: a container holds "
        "a GPU through a network of its own.",
    )
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

    @property
    def cards(self) -> tuple[HostGpu, ...]:
        """Its GPUs, by index."""
        uuids = [*self.gpu_uuids, *[None] * (self.gpus_per_node - len(self.gpu_uuids))]
        return tuple(HostGpu(self.name, index, uuid) for index, uuid in enumerate(uuids))
