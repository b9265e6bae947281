"""One machine with a Docker engine: its keys in a stack file, and what its components need to know."""

from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Annotated

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from errors.faults import FORM, Misfit
from fleet.pools import NodeGpus
from platforms.docker.addresses import Certificates, EngineAddress
from platforms.docker.container_model import GpuAccess
from platforms.docker.gpu_leases import CARD_NETWORK, HostGpu
from workloads.arguments import Argument
from workloads.names import AbsolutePath, Line


def _card_network(value: IPv4Network) -> IPv4Network:
    if not value.is_private or value.prefixlen > 28:
        raise Misfit("is not a private network with room for the GPUs", "write one such as 10.99.0.0/24")
    return value


CardNetwork = Annotated[
    IPv4Network, Argument("str"), AfterValidator(_card_network), Field(strict=False), WithJsonSchema({"type": "string"})
]


class HostKeys(BaseModel):
    """The engine of a host, and how its containers get GPUs."""

    model_config = FORM
    engine: EngineAddress = Field(
        description="Where its Docker engine answers: unix:///var/run/docker.sock, ssh://user@host or tcp://host:2376."
    )
    certificates: Certificates = None
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


@dataclass(frozen=True, slots=True)
class Host:
    """A host of a stack. CPU in cores, memory in GiB."""

    pool: str
    engine: str  # its address as seen from here
    keys: HostKeys
    gpus: NodeGpus | None
    cpu: float
    memory_gib: float
    is_stand_in: bool

    @property
    def cards(self) -> tuple[HostGpu, ...]:
        """Its GPUs, by index."""
        count, uuids = (self.gpus.count if self.gpus else 0), self.keys.gpu_uuids
        return tuple(HostGpu(self.pool, index, uuids[index] if uuids else None) for index in range(count))
