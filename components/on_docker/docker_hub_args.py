"""Arguments of DockerHub, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.docker.hub_model: edit those, or tools/component_arguments.py, not
this file.
"""

from collections.abc import Sequence
from typing import NotRequired, TypedDict

import pulumi

from components.on_kubernetes.notebook_hub_args import HubAuthenticator, HubContents, HubCourse, HubCull


class HubKernel(TypedDict):
    """A kernel type; each kernel has its own container. CPU in cores, memory in GiB."""

    name: str
    """Short name, unique in its hub. Keep it: choices and notebooks are remembered by it."""
    title: str
    """What users read."""
    memlock: NotRequired[int | str]
    """Bytes that a process may lock in memory, or `unlimited`."""
    stack_mib: NotRequired[int]
    """Largest stack of a process in MiB; default: the engine's."""
    description: NotRequired[str]
    """For those who read the configuration; no user sees it."""
    gpus: NotRequired[int]
    """Whole GPUs, held while the kernel lives; 0 for none. Default: 0."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory in GiB; there is no swap."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm in GiB, part of the memory; default: a quarter of it with GPUs, else 64 MiB."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage, with ipykernel."""
    image_name: str
    """Name of the image as people know it; policies look up its facts by it."""


class HostedProfile(TypedDict):
    """A profile on the page that starts servers. CPU in cores, memory in GiB."""

    name: str
    """Short name, unique in its hub. Keep it: choices and notebooks are remembered by it."""
    title: str
    """What users read."""
    memlock: NotRequired[int | str]
    """Bytes that a process may lock in memory, or `unlimited`."""
    stack_mib: NotRequired[int]
    """Largest stack of a process in MiB; default: the engine's."""
    description: NotRequired[str]
    """Second line of the choice; default: GPUs, cores and memory."""
    pool: NotRequired[str]
    """Pool of the host; must be the hub's."""
    gpus: NotRequired[int]
    """Whole GPUs of the server itself; none with kernels. Default: 0."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory in GiB; there is no swap."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm in GiB, part of the memory; default: a quarter of it with GPUs, else 64 MiB."""
    is_default: NotRequired[bool]
    """Chosen when the user chooses nothing; one per hub. Default: false."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies look up its facts by it."""
    gpu: NotRequired[str]
    """GPU model, for the page: GeForce GTX 1080 Ti."""
    gpu_memory_gb: NotRequired[float]
    """Memory of one such GPU in GB, for the page; default 0: not shown."""
    contents: NotRequired[HubContents]
    """What the image contains, for the page."""
    kernels: NotRequired[Sequence[HubKernel]]
    """Kernels in separate containers, started by the user's kernel gateway."""


class HostExpose(TypedDict):
    """Address of the proxy: https on a port of the host."""

    kind: str
    """host_port: A port of the Docker host."""
    certificate: NotRequired[str]
    """PEM file on the machine that runs the hub: the certificate and its chain; default: one that the hub signs itself,
    which every browser warns about."""
    key: NotRequired[str]
    """PEM file on the machine that runs the hub: the certificate's private key."""
    port: NotRequired[int]
    """Port of the host. Default: 8000."""
    address: NotRequired[str]
    """Address of the host that it is published on. Default: 127.0.0.1."""


class HubCard(TypedDict):
    """One GPU of the host."""

    index: int
    """Its index in nvidia-smi."""
    device: str
    """Its UUID, or its index."""
    network: NotRequired[pulumi.Input[str]]
    """Network of the GPU, from a DockerHost; without one if GPUs are shared."""


class DockerHubArgs(TypedDict):
    """Arguments of DockerHub. Times in seconds, sizes in GiB."""

    public_url: NotRequired[str]
    """Address that people open, if a proxy with that name and its certificate forwards to the hub."""
    help_url: NotRequired[str]
    """Where people get help: a link on the page that starts servers."""
    start_timeout_s: NotRequired[int]
    """Seconds that a server may take to start, image pull included. Default: 600."""
    http_timeout_s: NotRequired[int]
    """Seconds from the started pod, container or job to a server that answers. Default: 120."""
    cull: NotRequired[HubCull]
    """When idle and old servers are ended."""
    hub_image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage, with jupyterhub, dockerspawner, Docker SDK, idle culler,
    authenticators and openssl."""
    proxy_image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage, with configurable-http-proxy on its PATH."""
    proxy_image_name: NotRequired[str]
    """Name of that image. Default: proxy."""
    authenticator: HubAuthenticator
    """How people log in. A client secret is a file on the host: /etc/gpu-commons/secrets/SECRET/KEY."""
    site_name: NotRequired[str]
    """Heading of the pages. Default: JupyterHub."""
    courses: NotRequired[Sequence[HubCourse]]
    """Courses that use the hub. Recorded for policies and reviewers; the hub itself ignores them."""
    pool: str
    """Pool of the host."""
    expose: HostExpose
    """How people reach the hub."""
    hub_image_name: NotRequired[str]
    """Name of that image. Default: docker-hub."""
    filter_image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage, that starts HAProxy with /etc/gpu-commons/engine_filter.cfg."""
    filter_image_name: NotRequired[str]
    """Name of that image. Default: engine-filter."""
    gateway_image: NotRequired[pulumi.Input[str]]
    """Image by digest with jupyter_kernel_gateway and Docker SDK, for profiles with kernels."""
    gateway_image_name: NotRequired[str]
    """Name of that image. Default: kernel-gateway."""
    kernels_per_user: NotRequired[int]
    """Kernels in containers that one user may have at a time. Default: 4."""
    engine: str
    """Where the host's engine answers, as seen from here and as in a DockerHost: `destroy` stops the user servers
    there."""
    certificates: NotRequired[str]
    """Folder with ca.pem, cert.pem and key.pem for an engine at tcp://; docker context uses them."""
    engine_socket: NotRequired[str]
    """Engine socket on the host, mounted only into the filter; default: that of `engine`, or /var/run/docker.sock."""
    profiles: Sequence[HostedProfile]
    """What users can choose, in the order of the page; without `is_default` the first is chosen."""
    access: NotRequired[str]
    """How containers get GPUs on this host: cdi or runtime. Default: cdi."""
    cards: NotRequired[Sequence[HubCard]]
    """GPUs of the host."""
