"""Arguments of SlurmHub, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.slurm.hub_model: edit those, or tools/component_arguments.py, not
this file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from components.on_kubernetes.notebook_hub_args import HubAuthenticator, HubContents, HubCourse, HubCull
from components.on_slurm.slurm_gpu_job_args import SlurmPartition


class SlurmProfile(TypedDict):
    """A profile on the page that starts servers: partition, GPUs, time. CPU in cores, memory in GiB."""

    name: str
    """Short name, unique in its hub. Keep it: choices and notebooks are remembered by it."""
    title: str
    """What users read."""
    description: NotRequired[str]
    """What it is for: stands before its size."""
    gpus: NotRequired[int]
    """Whole GPUs; 0 for none. Default: 0."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory in GiB."""
    is_default: NotRequired[bool]
    """Chosen when the user chooses nothing; one per hub. Default: false."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage, with jupyterhub and batchspawner."""
    image_name: str
    """Name of the image as people know it; policies look up its facts by it."""
    gpu: NotRequired[str]
    """GPU model, for the page: GeForce GTX 1080 Ti."""
    gpu_memory_gb: NotRequired[float]
    """Memory of one such GPU in GB, for the page; default 0: not shown."""
    contents: NotRequired[HubContents]
    """What the image contains, for the page."""
    sif: pulumi.Input[str]
    """File of the image, such as the `path` of a SifImage."""
    partitions: Sequence[SlurmPartition]
    """Pools that it may land on, in their order: Slurm picks the first that can start it."""
    time_min: int
    """Minutes after which Slurm ends the server."""


class LoginNodeExpose(TypedDict):
    """Address of the proxy: https on a port of the login node."""

    kind: str
    """login_node: A port of the login node."""
    certificate: NotRequired[str]
    """PEM file on the machine that runs the hub: the certificate and its chain; default: one that the hub signs itself,
    which every browser warns about."""
    key: NotRequired[str]
    """PEM file on the machine that runs the hub: the certificate's private key."""
    port: NotRequired[int]
    """Port that people open, 1024 or more. Default: 8000."""
    address: NotRequired[str]
    """Address of the login node that the hub answers on; people reach 127.0.0.1 by ssh -L. Default: 127.0.0.1."""
    hub_port: NotRequired[int]
    """Port that users' servers report to, on `inside` of the site. Default: 8081."""
    proxy_api_port: NotRequired[int]
    """Port by which the hub commands its proxy, on 127.0.0.1. Default: 8001."""


class SlurmHubArgs(TypedDict):
    """Arguments of SlurmHub. Times in seconds, sizes in GiB."""

    public_url: NotRequired[str]
    """Address that people open, if a proxy with that name and its certificate forwards to the hub."""
    help_url: NotRequired[str]
    """Where people get help: a link on the page that starts servers."""
    start_timeout_s: NotRequired[int]
    """Seconds that a server may take to start, time in the queue included. Default: 600."""
    http_timeout_s: NotRequired[int]
    """Seconds from the started pod, container or job to a server that answers. Default: 120."""
    cull: NotRequired[HubCull]
    """When idle and old servers are ended."""
    hub_image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage, with jupyterhub, batchspawner, ssh client, idle culler,
    authenticators and openssl."""
    proxy_image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage, with configurable-http-proxy on its PATH."""
    proxy_image_name: NotRequired[str]
    """Name of that image. Default: proxy."""
    authenticator: HubAuthenticator
    """How people log in. A client secret is a file on the login node: /etc/gpu-commons/secrets/SECRET/KEY."""
    site_name: NotRequired[str]
    """Heading of the pages. Default: JupyterHub."""
    courses: NotRequired[Sequence[HubCourse]]
    """Courses that use the hub. Recorded for policies and reviewers; the hub itself ignores them."""
    expose: LoginNodeExpose
    """How people reach the hub."""
    hub_image_name: NotRequired[str]
    """Name of that image. Default: slurm-hub."""
    hub_sif: pulumi.Input[str]
    """File of that image."""
    proxy_sif: pulumi.Input[str]
    """File of that image."""
    profiles: Sequence[SlurmProfile]
    """What users can choose, in the order of the page; without `is_default` the first is chosen."""
    site: Mapping[str, Any]
    """Access to the cluster, as in `site.slurm` of a stack file; `hubs` there has the accounts of hub and users."""
