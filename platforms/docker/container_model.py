"""Model of a container on a Docker host, for stack files and component arguments.

Its programs' other engine settings (locked memory, stack, IPC) are stated once, in the image spec.
"""

import re
from collections.abc import Iterator
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, Field, WithJsonSchema

from errors.agreements import check
from errors.faults import FORM, Misfit
from errors.problems import Fault
from workloads.addresses import LOOPBACK
from workloads.amounts import Count, Gib, Retries
from workloads.arguments import IMAGE_NAME, ImageReference, OutputText
from workloads.names import AbsolutePath, Command, Line, Name
from workloads.workload import Env, Workload, chosen_gpus

# How a host's containers get GPUs: device requests by CDI names (Docker 25 and later), or NVIDIA's runtime.
GpuAccess = Literal["cdi", "runtime"]


def _port(value: int) -> int:
    if not 1 <= value <= 65535:
        raise Misfit("is not a port", "write a port from 1 to 65535")
    return value


def _address(value: str) -> str:
    if not re.fullmatch(r"\d{1,3}(\.\d{1,3}){3}", value) or any(int(part) > 255 for part in value.split(".")):
        raise Misfit("is not an address of the host", "write 127.0.0.1, or one of the host's own addresses")
    return value


PortNumber = Annotated[int, AfterValidator(_port)]
PublishedAt = Annotated[
    str,
    AfterValidator(_address),
    WithJsonSchema({"type": "string"}),
    Field(description="Address of the host that it is published on."),
]
PoolOfHost = Annotated[Name, Field(description="Pool of the host.")]
MemoryWithoutSwap = Annotated[Gib, Field(description="Memory in GiB; there is no swap.")]
ACCESS: Final = "How containers get GPUs on this host: cdi or runtime."


class Port(BaseModel):
    """A container port and its published address."""

    model_config = FORM
    name: Name = Field(description="What answers there: tensorboard.")
    container: PortNumber = Field(description="Port inside the container.")
    host: PortNumber = Field(description="Port of the host. It is declared, so that two containers never share one.")
    address: PublishedAt = LOOPBACK


class Mount(BaseModel):
    """A volume or host folder, mounted at a container path."""

    model_config = FORM
    volume: Name | None = Field(None, description="Volume of the engine; it stays when the container goes.")
    folder: AbsolutePath | None = Field(None, description="Folder of the host, in place of volume.")
    target: AbsolutePath = Field(description="Path in the container.")
    read_only: bool = Field(default=False, description="The container cannot write there.")

    @check
    def _one_source(self) -> Iterator[Fault]:
        if (self.volume is None) == (self.folder is None):
            yield Fault((), "has neither volume nor folder, or both", "write one of the two")


class ContainerKeys(Workload):
    """Keys of a container, shared by stack files and DockerGpuContainer arguments."""

    command: Command | None = Field(None, description="Program and its arguments; none: what the image starts.")
    cards: tuple[Count, ...] = Field((), description="Which GPUs of the host, by index; none: any that are free.")
    ports: tuple[Port, ...] = Field((), description="Ports that are published.")
    mounts: tuple[Mount, ...] = Field((), description="Volumes and folders in the container.")
    runs_to_end: bool = Field(
        default=False,
        description="A batch run: an update waits for its end and keeps its log; else a service that is kept running.",
    )
    retries: Retries = Field(0, description="How often a failed batch run is started again.")
    env: Env = {}  # noqa: RUF012 - pydantic copies it

    @check
    def _env(self) -> Iterator[Fault]:
        yield from chosen_gpus(self.env, "the container runtime")

    @check
    def _cards(self) -> Iterator[Fault]:
        if self.cards and self.gpus != len(self.cards):
            yield Fault(("cards",), "names other cards than gpus asks for", f"write gpus: {len(self.cards)}")

    @check
    def _retries_of_a_run(self) -> Iterator[Fault]:
        if self.retries and not self.runs_to_end:
            yield Fault(("retries",), "is given for a service", "leave it out: a service is started again anyway")

    @check
    def _ports_once(self) -> Iterator[Fault]:
        published: set[tuple[str, int]] = set()
        for index, port in enumerate(self.ports):
            if (port.address, port.host) in published:
                fix = "give each port of the host to one port"
                yield Fault(("ports", index, "host"), "is published twice", fix, port.host)
            published.add((port.address, port.host))


class RuntimeProfile(BaseModel):
    """Engine settings that an image's programs need, from its spec."""

    model_config = FORM
    memlock: Literal["unlimited"] | Count | None = Field(
        None, description="Bytes that a process may lock in memory, or `unlimited`."
    )
    stack_mib: Count | None = Field(None, description="Largest stack of a process in MiB; none: the engine's.")
    ipc: Literal["host", "private"] | None = Field(
        None, description="`host` shares the host's shared memory; none: private."
    )


class Container(ContainerKeys, RuntimeProfile):
    """Input of DockerGpuContainer. CPU in cores, memory and shared memory in GiB, locked memory in bytes."""

    image: ImageReference
    image_name: Line = Field(description=IMAGE_NAME)
    pool: PoolOfHost
    memory_gib: MemoryWithoutSwap
    shm_gib: Gib | None = Field(
        None, description="Shared memory at /dev/shm in GiB, part of the memory; none: 64 MiB, as the engine has it."
    )
    access: GpuAccess | None = Field(None, description=ACCESS)
    devices: tuple[Line, ...] = Field((), description="UUIDs or indices of its GPUs.")
    card_networks: tuple[OutputText, ...] = Field(
        (), description="Networks of these GPUs, from a DockerHost; without one if GPUs are shared."
    )
