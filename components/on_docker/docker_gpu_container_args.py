"""Arguments of DockerGpuContainer, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.docker.container_model: edit those, or tools/component_arguments.py,
not this file.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi


class ContainerPort(TypedDict):
    """A container port and its published address."""

    name: str
    """What answers there: tensorboard."""
    container: int
    """Port inside the container."""
    host: int
    """Port of the host. It is declared, so that two containers never share one."""
    address: NotRequired[str]
    """Address of the host that it is published on. Default: 127.0.0.1."""


class ContainerMount(TypedDict):
    """A volume or host folder, mounted at a container path."""

    volume: NotRequired[str]
    """Volume of the engine; it stays when the container goes."""
    folder: NotRequired[str]
    """Folder of the host, in place of volume."""
    target: str
    """Path in the container."""
    read_only: NotRequired[bool]
    """The container cannot write there. Default: false."""


class DockerGpuContainerArgs(TypedDict):
    """Arguments of DockerGpuContainer. CPU in cores, memory in GiB."""

    memlock: NotRequired[int | str]
    """Bytes that a process may lock in memory, or `unlimited`."""
    stack_mib: NotRequired[int]
    """Largest stack of a process in MiB; default: the engine's."""
    ipc: NotRequired[str]
    """`host` shares the host's shared memory; default: private."""
    pool: str
    """Pool of the host."""
    gpus: NotRequired[int]
    """Whole GPUs; 0 for none. Default: 0."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory in GiB; there is no swap."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm in GiB, part of the memory; default: 64 MiB, as the engine has it."""
    command: NotRequired[Sequence[str]]
    """Program and its arguments; default: what the image starts."""
    ports: NotRequired[Sequence[ContainerPort]]
    """Ports that are published."""
    mounts: NotRequired[Sequence[ContainerMount]]
    """Volumes and folders in the container."""
    runs_to_end: NotRequired[bool]
    """A batch run: an update waits for its end and keeps its log; else a service that is kept running. Default:
    false."""
    retries: NotRequired[int]
    """How often a failed batch run is started again. Default: 0."""
    env: NotRequired[Mapping[str, str]]
    """Environment variables; those that select GPUs are refused."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies look up its facts by it."""
    access: NotRequired[str]
    """How containers get GPUs on this host: cdi or runtime."""
    devices: NotRequired[Sequence[str]]
    """UUIDs or indices of its GPUs."""
    card_networks: NotRequired[Sequence[pulumi.Input[str]]]
    """Networks of these GPUs, from a DockerHost; without one if GPUs are shared."""
    network: pulumi.Input[str]
    """Network of the container, such as `network` of a DockerHost."""
