"""SlurmHub: JupyterHub on a cluster's login node, with user servers as Slurm jobs."""

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
    """A profile on the page that starts servers: partition, GPUs, time. CPU in cores, memory in GiB."""

    name: str
    """Short and stable: the hub remembers a user's last choice by it."""
    title: str
    """Shown to users."""
    description: NotRequired[str]
    """Purpose, shown before the size."""
    image: pulumi.Input[str]
    """Image by digest with jupyterhub and batchspawner, such as the `ref` of a GpuImage."""
    image_name: str
    """Image name; policies look up its facts by it."""
    sif: pulumi.Input[str]
    """Image file, such as the `path` of a SifImage."""
    partitions: Sequence[SlurmPartition]
    """Pools it may run on: Slurm picks the first that can start it."""
    gpus: NotRequired[int]
    """Whole GPUs; default 0."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory."""
    time_min: int
    """Server time limit in minutes."""
    is_default: NotRequired[bool]
    """Chosen when the user chooses nothing; one per hub; default false."""
    gpu: NotRequired[str]
    """GPU model, for the page: Tesla P100-PCIE-16GB."""
    gpu_memory_gb: NotRequired[float]
    """Memory of one such GPU; default 0: not known."""
    contents: NotRequired[HubContents]
    """Image content."""


class LoginNodeExpose(TypedDict):
    """Public address of the proxy: https on a login node port."""

    kind: str
    """login_node."""
    port: NotRequired[int]
    """Public port; default 8000."""
    address: NotRequired[str]
    """Address of the login node; default 127.0.0.1."""
    hub_port: NotRequired[int]
    """Hub port for users' servers; default 8081."""
    proxy_api_port: NotRequired[int]
    """Proxy API port for the hub; default 8001."""
    certificate: NotRequired[str]
    """PEM file on the login node with the certificate and its chain; default: self-signed."""
    key: NotRequired[str]
    """PEM file on the login node with the certificate's private key."""


class SlurmHubArgs(HubOnAMachineArgs):
    """Arguments of SlurmHub. Times in seconds, sizes in GiB."""

    site: Mapping[str, Any]
    """Access to the cluster, as in `site.slurm` of a stack file; `hubs` there has the accounts of hub and users."""
    hub_image: pulumi.Input[str]
    """Image with jupyterhub, batchspawner, ssh client, idle culler, authenticators and openssl."""
    hub_image_name: NotRequired[str]
    """Default slurm-hub."""
    hub_sif: pulumi.Input[str]
    """File of that image."""
    proxy_image: pulumi.Input[str]
    """Has configurable-http-proxy on its PATH."""
    proxy_image_name: NotRequired[str]
    """Default proxy."""
    proxy_sif: pulumi.Input[str]
    """File of that image."""
    profiles: Sequence[SlurmProfile]
    """In page order; without `is_default` the first is chosen."""
    expose: LoginNodeExpose
    authenticator: HubAuthenticator
    """A client secret is a file on the login node: /etc/gpu-commons/secrets/SECRET/KEY."""
    start_timeout_s: NotRequired[int]
    """Timeout from profile choice to running job, time in the queue included; default 600."""


class SlurmHub(pulumi.ComponentResource):
    """A hub and its proxy on the login node; each server is one job under its user's account."""

    url: pulumi.Output[str]
    """Public URL, on the login node unless a proxy in front of it has a name."""
    state: pulumi.Output[str]
    """The hub account's folder with database, credentials and logs."""

    def __init__(self, name: str, args: SlurmHubArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        try:
            site = site_of(args["site"])
            hub = parse_hub(name, {key: value for key, value in args.items() if key != "site"}, site)
            texts(hub, site, {each.image_name: "/image.sif" for each in hub.profiles})  # raises for unwritable values
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
    """Image files by image name."""
    found = {hub.hub_image_name: hub.hub_sif, hub.proxy_image_name: hub.proxy_sif}
    return found | {each.image_name: each.sif for each in hub.profiles}


def _profiles(hub: Hub, site: SlurmAccess, sifs: pulumi.Output[dict[str, str]]) -> list[dict[str, Any]]:
    """The jobs the hub submits, one per profile, for the policies."""
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
    """Program files of every hub, by name: for the login node and the hub."""
    folder = resources.files("platforms.slurm").joinpath("hub_files")
    return {each.name: each.read_text() for each in sorted(folder.iterdir(), key=str) if each.name.endswith(".py")}
