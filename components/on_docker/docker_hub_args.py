"""Arguments of DockerHub, as Pulumi and type checkers read them; platforms.docker.hub_model reads their values."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

import pulumi

from components.hub_on_a_machine_args import HubOnAMachineArgs
from components.on_kubernetes.notebook_hub_args import HubAuthenticator, HubContents


class HubKernel(TypedDict):
    """One kind of kernels, each in a container of its own. CPU in cores, memory in GiB."""

    name: str
    """Short and stable: notebooks remember it."""
    title: str
    """What users see."""
    description: NotRequired[str]
    """For those who read the arguments."""
    image: pulumi.Input[str]
    """Image by digest with ipykernel, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies find its facts by it."""
    gpus: NotRequired[int]
    """Whole GPUs, held while the kernel lives; default 0."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory; there is no swap."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm, part of the memory; default a quarter of it with GPUs, else 64 MiB."""
    memlock: NotRequired[int | str]
    """Bytes that a process may lock in memory, or `unlimited`."""
    stack_mib: NotRequired[int]
    """Largest stack of a process in MiB."""


class HostedProfile(TypedDict):
    """One choice on the page that starts servers. CPU in cores, memory in GiB."""

    name: str
    """Short and stable: the hub remembers a user's last choice by it."""
    title: str
    """What users see."""
    description: NotRequired[str]
    """Second line; default: GPUs, cores and memory."""
    image: pulumi.Input[str]
    """Image of the server by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies find its facts by it."""
    gpus: NotRequired[int]
    """Whole GPUs of the server itself; default 0, and none beside kernels."""
    kernels: NotRequired[Sequence[HubKernel]]
    """Kernels in containers of their own, which a kernel gateway of the user starts."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory; there is no swap."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm, part of the memory; default a quarter of it with GPUs, else 64 MiB."""
    memlock: NotRequired[int | str]
    """Bytes that a process may lock in memory, or `unlimited`."""
    stack_mib: NotRequired[int]
    """Largest stack of a process in MiB."""
    pool: NotRequired[str]
    """Pool of the host; it can only be the hub's."""
    is_default: NotRequired[bool]
    """Chosen when the user chooses nothing; one per hub; default false."""
    gpu: NotRequired[str]
    """GPU model, for the page: GeForce GTX 1080 Ti."""
    gpu_memory_gb: NotRequired[float]
    """Memory of one such GPU, for the page; default 0: not shown."""
    contents: NotRequired[HubContents]
    """What is in the image, for the page."""


class HostExpose(TypedDict):
    """How people reach the proxy: https on a port of the host."""

    kind: str
    """host_port."""
    port: NotRequired[int]
    """Port of the host; default 8000."""
    address: NotRequired[str]
    """Address of the host; default 127.0.0.1."""
    certificate: NotRequired[str]
    """PEM file of the host with the certificate and its chain; default: one that the host signs itself."""
    key: NotRequired[str]
    """PEM file of the host with the certificate's private key."""


class HubCard(TypedDict):
    """One GPU of the host."""

    index: int
    """In the order of nvidia-smi."""
    device: str
    """Its UUID, or its index."""
    network: NotRequired[pulumi.Input[str]]
    """Network that holds it, of a DockerHost; none where GPUs are shared."""


class DockerHubArgs(HubOnAMachineArgs):
    """Arguments of DockerHub. Times in seconds, sizes in GiB."""

    pool: str
    """Pool of the host."""
    hub_image: pulumi.Input[str]
    """Has jupyterhub, dockerspawner, the Docker SDK, the idle culler, the authenticators, and openssl."""
    hub_image_name: NotRequired[str]
    """Default docker-hub."""
    proxy_image: pulumi.Input[str]
    """Has on its PATH configurable-http-proxy."""
    proxy_image_name: NotRequired[str]
    """Default proxy."""
    filter_image: pulumi.Input[str]
    """Starts HAProxy with /etc/gpu-commons/engine_filter.cfg."""
    filter_image_name: NotRequired[str]
    """Default engine-filter."""
    gateway_image: NotRequired[pulumi.Input[str]]
    """Has jupyter_kernel_gateway and the Docker SDK; needed by profiles with kernels."""
    gateway_image_name: NotRequired[str]
    """Default kernel-gateway."""
    kernels_per_user: NotRequired[int]
    """Kernels in containers that one user may have at a time; default 4."""
    profiles: Sequence[HostedProfile]
    """In the order of the page that starts servers; without `is_default` the first is chosen."""
    cards: NotRequired[Sequence[HubCard]]
    """GPUs of the host."""
    access: NotRequired[str]
    """How the host gives GPUs to containers: cdi or runtime; default cdi."""
    engine: str
    """Where the host's engine answers from here, as of a DockerHost: `destroy` ends the users' servers there."""
    certificates: NotRequired[str]
    """Folder with ca.pem, cert.pem and key.pem, for an engine at tcp://."""
    engine_socket: NotRequired[str]
    """The engine's socket on the host, which only the filter gets; default: that of `engine`, or
    /var/run/docker.sock."""
    expose: HostExpose
    authenticator: HubAuthenticator
    """A client secret is a file of the host: /etc/gpu-commons/secrets/SECRET/KEY."""
    start_timeout_s: NotRequired[int]
    """From the choice of a profile to a running container, image pull included; default 600."""
