"""SlurmHub: JupyterHub on the login node of a cluster, whose users' servers are jobs of Slurm."""

from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any, NotRequired, TypedDict

import pulumi

from components.hub_on_a_machine_args import HubOnAMachineArgs
from components.on_kubernetes.notebook_hub_args import HubAuthenticator, HubContents
from components.on_slurm.hub_processes import HubProcess
from components.on_slurm.site import site_of
from components.on_slurm.slurm_gpu_job import SlurmPartition
from errors import UserError
from platforms.slurm.hub import files, texts
from platforms.slurm.hub_model import Hub, parse_hub
from platforms.slurm.site_model import SlurmAccess


class SlurmProfile(TypedDict):
    """One choice on the page that starts servers: a partition, GPUs and a time. CPU in cores, memory in GiB."""

    name: str
    """Short and stable: the hub remembers a user's last choice by it."""
    title: str
    """What users see."""
    description: NotRequired[str]
    """Before the size: what it is for."""
    image: pulumi.Input[str]
    """Image by digest with jupyterhub and batchspawner, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies find its facts by it."""
    sif: pulumi.Input[str]
    """File of the image, such as the `path` of a SifImage."""
    partitions: Sequence[SlurmPartition]
    """Pools that it may land on: Slurm takes the first that can start it."""
    gpus: NotRequired[int]
    """Whole GPUs; default 0."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory."""
    time_min: int
    """Minutes after which Slurm ends the server."""
    is_default: NotRequired[bool]
    """Chosen when the user chooses nothing; one per hub; default false."""
    gpu: NotRequired[str]
    """GPU model, for the page: Tesla P100-PCIE-16GB."""
    gpu_memory_gb: NotRequired[float]
    """Memory of one such GPU; default 0: not known."""
    contents: NotRequired[HubContents]
    """What is in the image."""


class LoginNodeExpose(TypedDict):
    """How people reach the proxy: https on a port of the login node."""

    kind: str
    """login_node."""
    port: NotRequired[int]
    """Port that people open; default 8000."""
    address: NotRequired[str]
    """Address of the login node; default 127.0.0.1."""
    hub_port: NotRequired[int]
    """Port that users' servers report to; default 8081."""
    proxy_api_port: NotRequired[int]
    """Port by which the hub commands its proxy; default 8001."""
    certificate: NotRequired[str]
    """PEM file of the login node with the certificate and its chain; default: one that the hub signs itself."""
    key: NotRequired[str]
    """PEM file of the login node with the certificate's private key."""


class SlurmHubArgs(HubOnAMachineArgs):
    """Arguments of SlurmHub. Times in seconds, sizes in GiB."""

    site: Mapping[str, Any]
    """How the cluster is reached, as in `site.slurm` of a stack file; its `hubs` says who the hub and its users are."""
    hub_image: pulumi.Input[str]
    """Has jupyterhub, batchspawner, an ssh client, the idle culler, the authenticators, and openssl."""
    hub_image_name: NotRequired[str]
    """Default slurm-hub."""
    hub_sif: pulumi.Input[str]
    """File of that image."""
    proxy_image: pulumi.Input[str]
    """Has on its PATH configurable-http-proxy."""
    proxy_image_name: NotRequired[str]
    """Default proxy."""
    proxy_sif: pulumi.Input[str]
    """File of that image."""
    profiles: Sequence[SlurmProfile]
    """In the order of the page that starts servers; without `is_default` the first is chosen."""
    expose: LoginNodeExpose
    authenticator: HubAuthenticator
    """A client secret is a file of the login node: /etc/gpu-commons/secrets/SECRET/KEY."""
    start_timeout_s: NotRequired[int]
    """From the choice of a profile to a running job, the wait in the queue included; default 600."""


class SlurmHub(pulumi.ComponentResource):
    """A hub and its proxy on the login node; each server is one job, which runs as its user's account."""

    url: pulumi.Output[str]
    """Address that people open, on the login node unless something in front of it has a name."""
    state: pulumi.Output[str]
    """Folder of the hub's account with its database, its credentials and its logs."""

    def __init__(self, name: str, args: SlurmHubArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        try:
            site = site_of(args["site"])
            hub = parse_hub(name, {key: value for key, value in args.items() if key != "site"}, site)
            texts(hub, site, {each.image_name: "/image.sif" for each in hub.profiles})  # says what cannot be written
        except UserError as error:
            raise pulumi.RunError(str(error)) from None
        super().__init__("gpu-commons:index:SlurmHub", name, {**args}, opts)
        sifs = pulumi.Output.all(**_sifs(hub))
        inputs: dict[str, Any] = {
            "hub": name,
            "site": args["site"],
            "files": sifs.apply(lambda known: files(name, hub, site, known, hub_programs())),
            "profiles": _profiles(hub, site, sifs),
        }
        process = HubProcess(f"{name}-process", inputs, pulumi.ResourceOptions(parent=self))
        self.state = process.state
        self.url = process.state.apply(lambda _: hub.url)
        self.register_outputs({"url": self.url, "state": self.state})


def _sifs(hub: Hub) -> dict[str, Any]:
    """Files of images by the images' names."""
    found = {hub.hub_image_name: hub.hub_sif, hub.proxy_image_name: hub.proxy_sif}
    return found | {each.image_name: each.sif for each in hub.profiles}


def _profiles(hub: Hub, site: SlurmAccess, sifs: pulumi.Output[dict[str, str]]) -> list[dict[str, Any]]:
    """What the hub submits, for the policies: each profile as the job that it is."""
    known = sifs.apply(lambda paths: texts(hub, site, paths))
    return [
        {
            "name": each.name,
            "image": each.image,
            "image_name": each.image_name,
            "pools": [one.pool for one in each.partitions],
            "gpus": each.gpus,
            "text": known.apply(lambda found, name=each.name: found[name]),  # type: ignore[misc]
        }
        for each in hub.profiles
    ]


def hub_programs() -> dict[str, str]:
    """Programs of every hub by name: they run on the login node and in the hub."""
    folder = resources.files("platforms.slurm").joinpath("hub_files")
    return {each.name: each.read_text() for each in sorted(folder.iterdir(), key=str) if each.name.endswith(".py")}
