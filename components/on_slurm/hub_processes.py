"""HubProcess: a hub and its proxy on the login node of a Slurm site. They run until the resource is deleted.

Pulumi stores a provider in the state as a pickle that contains only its class name: never rename this module or
`RunsHub`.
"""

from typing import Any, Final

import pulumi
from pulumi import dynamic

from components.on_slurm.site import site_of
from platforms.slurm.controllers import hub_service
from platforms.slurm.hub_model import hubs_of

_INPUTS: Final = ("hub", "site", "files", "profiles")


class RunsHub(dynamic.ResourceProvider):
    """Called by Pulumi's dynamic resource plugin."""

    serialize_as_secret_always = False  # holds no secret, and the state should stay readable

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Write the files and start hub and proxy; adopt running processes. Raises SlurmError."""
        return dynamic.CreateResult(str(props["hub"]), _started(props))

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Also detects a stopped hub, without a change in the stack. Raises SlurmError."""
        changed = [key for key in _INPUTS if _olds.get(key) != _news.get(key)]
        is_gone = not changed and not hub_service.is_right(site_of(_news["site"]), str(_news["hub"]))
        replaced = [key for key in changed if key == "hub"]
        return dynamic.DiffResult(changes=bool(changed) or is_gone, replaces=replaced, delete_before_replace=True)

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Keeps servers running, except those of removed users' accounts. Raises SlurmError."""
        made = _started(_news)
        before, now = (hubs_of(site_of(each["site"])).accounts.values() for each in (_olds, _news))
        hub_service.end_servers(site_of(_news["site"]), str(_news["hub"]), sorted({*before} - {*now}))
        return dynamic.UpdateResult(made)

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Stop the hub, its users' servers, then the proxy; keep database and credentials. Raises SlurmError."""
        hub_service.stop(site_of(_props["site"]), str(_props["hub"]), _props["files"])


class HubProcess(dynamic.Resource, module="gpu-commons", name="HubProcess"):
    """One hub with its proxy."""

    state: pulumi.Output[str]
    """The hub account's folder with database, credentials and logs."""

    def __init__(self, name: str, args: dict[str, Any], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(RunsHub(), name, {"state": None, **args}, opts)


def _started(props: dict[str, Any]) -> dict[str, Any]:
    state = hub_service.start(site_of(props["site"]), str(props["hub"]), props["files"])
    return {**{key: props[key] for key in _INPUTS}, "state": state}
