"""SlurmHub: JupyterHub on a cluster's login node, with user servers as Slurm jobs."""

from typing import Any

import pulumi

from components.argument_errors import explained
from components.on_slurm.hub_processes import HubProcess
from components.on_slurm.site import site_of
from components.on_slurm.slurm_hub_args import SlurmHubArgs
from platforms.slurm.hub import files, texts
from platforms.slurm.hub_model import Hub, parse_hub
from platforms.slurm.site_model import SlurmAccess
from workloads.hub_programs import hub_programs


class SlurmHub(pulumi.ComponentResource):
    """A hub and its proxy on the login node; each server is one job under its user's account."""

    url: pulumi.Output[str]
    """Public URL, on the login node unless a proxy in front of it has a name."""
    state: pulumi.Output[str]
    """The hub account's folder with database, credentials and logs."""

    def __init__(self, name: str, args: SlurmHubArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        with explained():
            site = site_of(args["site"])
            hub = parse_hub(name, {key: value for key, value in args.items() if key != "site"}, site)
            texts(hub, site, {each.image_name: "/image.sif" for each in hub.profiles})  # raises for unwritable values
        super().__init__("gpu-commons:index:SlurmHub", name, {**args}, opts)
        sifs = pulumi.Output.all(**_sifs(hub))
        inputs: dict[str, Any] = {
            "hub": name,
            "site": args["site"],
            "files": sifs.apply(lambda known: files(name, hub, site, known, hub_programs("platforms.slurm"))),
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
