"""DockerGpuContainer: one container on a Docker host, with a runtime profile and GPUs of its own."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
import pulumi_docker as docker

from errors.problems import SettingsError
from platforms.docker.container import container_args, parse_container


class ContainerPort(TypedDict):
    """A port of the container, and where it is published."""

    name: str
    """What answers there."""
    container: int
    """Port inside the container."""
    host: int
    """Port of the host."""
    address: NotRequired[str]
    """Address of the host; default 127.0.0.1."""


class ContainerMount(TypedDict):
    """A volume of the engine or a folder of the host."""

    volume: NotRequired[str]
    """Volume of the engine."""
    folder: NotRequired[str]
    """Folder of the host, in place of volume."""
    target: str
    """Path in the container."""
    read_only: NotRequired[bool]
    """The container cannot write there."""


class DockerGpuContainerArgs(TypedDict):
    """Arguments of DockerGpuContainer. CPU in cores, memory in GiB."""

    pool: str
    """Pool of the host."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies find its facts by it."""
    network: pulumi.Input[str]
    """Network of the host's containers, such as `network` of a DockerHost."""
    command: NotRequired[Sequence[str]]
    """What runs, without a shell; default: what the image starts."""
    gpus: NotRequired[int]
    """GPUs; 0 for none."""
    devices: NotRequired[Sequence[str]]
    """Which, by UUID or index."""
    card_networks: NotRequired[Sequence[pulumi.Input[str]]]
    """Networks of these GPUs, of a DockerHost; none where GPUs are shared."""
    access: NotRequired[str]
    """How the host gives GPUs to containers: cdi or runtime."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory; there is no swap."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm; default 64 MiB, as the engine's."""
    memlock: NotRequired[int | str]
    """Bytes that a process may lock in memory, or `unlimited`."""
    stack_mib: NotRequired[int]
    """Largest stack of a process in MiB."""
    ipc: NotRequired[str]
    """`host` shares the host's shared memory; default `private`."""
    ports: NotRequired[Sequence[ContainerPort]]
    """Ports that are published."""
    mounts: NotRequired[Sequence[ContainerMount]]
    """Volumes and folders in the container."""
    env: NotRequired[Mapping[str, str]]
    """Environment variables; those that choose GPUs are refused."""
    runs_to_end: NotRequired[bool]
    """A batch run: the update waits for its end and keeps its log; else a service that is kept running."""
    retries: NotRequired[int]
    """How often a failed batch run is started again; default 0."""


class DockerGpuContainer(pulumi.ComponentResource):
    """One container. Its whole runtime profile is written: no limit is left to the engine's defaults."""

    container_name: pulumi.Output[str]
    """Name of the container; `docker logs NAME` reads its log."""
    log: pulumi.Output[str | None]
    """What a batch run has printed; none of a service."""

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
            # A container cannot be changed in place, and two of one name or one port cannot be there.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[image], delete_before_replace=True),
        )
        self.container_name = container.name
        self.log = container.container_logs
        self.register_outputs({"container_name": self.container_name, "log": self.log})
