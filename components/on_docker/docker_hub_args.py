"""Arguments of DockerHub, for Pulumi and type checkers; platforms.docker.hub_model parses their values."""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

import pulumi

from components.hub_on_a_machine_args import HubOnAMachineArgs
from components.on_kubernetes.notebook_hub_args import HubAuthenticator, HubContents


class HubKernel(TypedDict):
    """A kernel type; each kernel has its own container. CPU in cores, memory in GiB."""

    name: str
    """Short and stable: notebooks remember it."""
    title: str
    """Shown to users."""
    description: NotRequired[str]
    """For readers of the code."""
    image: pulumi.Input[str]
    """Image by digest with ipykernel, such as the `ref` of a GpuImage."""
    image_name: str
    """Image name; policies look up its facts by it."""
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
    """A profile on the page that starts servers. CPU in cores, memory in GiB."""

    name: str
    """Short and stable: the hub remembers a user's last choice by it."""
    title: str
    """Shown to users."""
    description: NotRequired[str]
    """Second line; default: GPUs, cores and memory."""
    image: pulumi.Input[str]
    """Image of the server by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Image name; policies look up its facts by it."""
    gpus: NotRequired[int]
    """Whole GPUs of the server itself; default 0, none with kernels."""
    kernels: NotRequired[Sequence[HubKernel]]
    """Kernels in separate containers, started by the user's kernel gateway."""
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
    """Pool of the host; must be the hub's."""
    is_default: NotRequired[bool]
    """Chosen when the user chooses nothing; one per hub; default false."""
    gpu: NotRequired[str]
    """GPU model, for the page: GeForce GTX 1080 Ti."""
    gpu_memory_gb: NotRequired[float]
    """Memory of one such GPU, for the page; default 0: not shown."""
    contents: NotRequired[HubContents]
    """Image content, for the page."""


class HostExpose(TypedDict):
    """Public address of the proxy: https on a host port."""

    kind: str
    """host_port."""
    port: NotRequired[int]
    """Host port; default 8000."""
    address: NotRequired[str]
    """Host address; default 127.0.0.1."""
    certificate: NotRequired[str]
    """PEM file on the host with the certificate and its chain; default: self-signed."""
    key: NotRequired[str]
    """PEM file on the host with the certificate's private key."""


class HubCard(TypedDict):
    """One GPU of the host."""

    index: int
    """Index in nvidia-smi."""
    device: str
    """Its UUID, or its index."""
    network: NotRequired[pulumi.Input[str]]
    """Network of the GPU, from a DockerHost; none if GPUs are shared."""


class DockerHubArgs(HubOnAMachineArgs):
    """Arguments of DockerHub. Times in seconds, sizes in GiB."""

    pool: str
    """Pool of the host."""
    hub_image: pulumi.Input[str]
    """Image with jupyterhub, dockerspawner, Docker SDK, idle culler, authenticators and openssl."""
    hub_image_name: NotRequired[str]
    """Default docker-hub."""
    proxy_image: pulumi.Input[str]
    """Has configurable-http-proxy on its PATH."""
    proxy_image_name: NotRequired[str]
    """Default proxy."""
    filter_image: pulumi.Input[str]
    """Starts HAProxy with /etc/gpu-commons/engine_filter.cfg."""
    filter_image_name: NotRequired[str]
    """Default engine-filter."""
    gateway_image: NotRequired[pulumi.Input[str]]
    """Image with jupyter_kernel_gateway and Docker SDK; for profiles with kernels."""
    gateway_image_name: NotRequired[str]
    """Default kernel-gateway."""
    kernels_per_user: NotRequired[int]
    """Maximum kernel containers per user; default 4."""
    profiles: Sequence[HostedProfile]
    """In page order; without `is_default` the first is chosen."""
    cards: NotRequired[Sequence[HubCard]]
    """GPUs of the host."""
    access: NotRequired[str]
    """How containers get GPUs on this host: cdi or runtime; default cdi."""
    engine: str
    """Engine address as seen from here, as in a DockerHost: `destroy` stops the user servers there."""
    certificates: NotRequired[str]
    """Folder with ca.pem, cert.pem and key.pem, for an engine at tcp://."""
    engine_socket: NotRequired[str]
    """Engine socket on the host, mounted only into the filter; default: that of `engine`, or
    /var/run/docker.sock."""
    expose: HostExpose
    authenticator: HubAuthenticator
    """A client secret is a file on the host: /etc/gpu-commons/secrets/SECRET/KEY."""
    start_timeout_s: NotRequired[int]
    """Timeout from profile choice to running container, image pull included; default 600."""
