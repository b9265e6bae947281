"""DockerGpuContainer: one container on a Docker host, with a runtime profile and its own GPUs."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
import pulumi_docker as docker

from errors.problems import SettingsError
from platforms.docker.container import container_args, parse_container


class ContainerPort(TypedDict):
    """A container port and its published address."""

    name: str
    """Service name."""
    container: int
    """Container port."""
    host: int
    """Host port."""
    address: NotRequired[str]
    """Host address; default 127.0.0.1."""


class ContainerMount(TypedDict):
    """A volume or a host folder."""

    volume: NotRequired[str]
    """Docker volume."""
    folder: NotRequired[str]
    """Host folder, instead of volume."""
    target: str
    """Path in the container."""
    read_only: NotRequired[bool]
    """Mount read-only."""


class DockerGpuContainerArgs(TypedDict):
    """Arguments of DockerGpuContainer. CPU in cores, memory in GiB."""

    pool: str
    """Pool of the host."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Image name; policies look up its facts by it."""
    network: pulumi.Input[str]
    """Network of the container, such as `network` of a DockerHost."""
    command: NotRequired[Sequence[str]]
    """Command, without a shell; default: the image's."""
    gpus: NotRequired[int]
    """GPUs; 0 for none."""
    devices: NotRequired[Sequence[str]]
    """GPU UUIDs or indices."""
    card_networks: NotRequired[Sequence[pulumi.Input[str]]]
    """Networks of these GPUs, from a DockerHost; none if GPUs are shared."""
    access: NotRequired[str]
    """How containers get GPUs on this host: cdi or runtime."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory; there is no swap."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm; default 64 MiB, the engine's."""
    memlock: NotRequired[int | str]
    """Bytes that a process may lock in memory, or `unlimited`."""
    stack_mib: NotRequired[int]
    """Largest stack of a process in MiB."""
    ipc: NotRequired[str]
    """`host` shares the host's shared memory; default `private`."""
    ports: NotRequired[Sequence[ContainerPort]]
    """Published ports."""
    mounts: NotRequired[Sequence[ContainerMount]]
    """Volumes and folders in the container."""
    env: NotRequired[Mapping[str, str]]
    """Environment variables; those that select GPUs are refused."""
    runs_to_end: NotRequired[bool]
    """A batch run: the update waits for its end and keeps its log; otherwise a restarted service."""
    retries: NotRequired[int]
    """Restarts of a failed batch run; default 0."""


class DockerGpuContainer(pulumi.ComponentResource):
    """One container. Its runtime profile is complete: no limit is left to engine defaults."""

    container_name: pulumi.Output[str]
    """Name of the container; `docker logs NAME` reads its log."""
    log: pulumi.Output[str | None]
    """Output of a batch run; none for a service."""

    def __init__(self, name: str, args: DockerGpuContainerArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        given = {key: value for key, value in args.items() if key != "network"}
        try:
            shape = parse_container(name, given)
        except SettingsError as error:
            raise pulumi.RunError(str(error)) from None
        super().__init__("gpu-commons:index:DockerGpuContainer", name, {**args}, opts)
        image = docker.RemoteImage(
            f"{name}-image", name=shape.image, keep_locally=True, opts=pulumi.ResourceOptions(parent=self)
        )
        inputs: dict[str, Any] = container_args(name, shape, args["network"])
        container = docker.Container(
            f"{name}-container",
            **inputs,
            # Containers cannot be changed in place, and two cannot share a name or port.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[image], delete_before_replace=True),
        )
        self.container_name = container.name
        self.log = container.container_logs
        self.register_outputs({"container_name": self.container_name, "log": self.log})
