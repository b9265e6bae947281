"""HubServers: stops everything started by a hub on a Docker host, once the hub goes.

Users start servers, gateways, kernels and user networks; these are no resources of the stack, so a destroy would
leave them running with their GPUs. Creating this resource does nothing; deleting it stops them. Homes, the hub's
database and its credentials stay.

Pulumi stores a provider in the state as a pickle. Ours contains only its class name, no code and no values, so today's
code stops what an earlier version started: never rename this module or `EndsServers`.
"""

from typing import Any, Final, NotRequired, TypedDict

import pulumi
from pulumi import dynamic

_KEYS: Final = ("hub", "engine", "certificates")


class HubServersArgs(TypedDict):
    """Arguments of HubServers."""

    hub: pulumi.Input[str]
    """Name of the hub."""
    engine: pulumi.Input[str]
    """Engine address, as in a DockerHost."""
    certificates: NotRequired[pulumi.Input[str]]
    """Folder of its certificates, as in a DockerHost."""


class EndsServers(dynamic.ResourceProvider):
    """Called by Pulumi's dynamic resource plugin."""

    serialize_as_secret_always = False  # holds no secret, and the state should stay readable

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Only record the hub."""
        return dynamic.CreateResult(str(props["hub"]), _known(props))

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Another hub replaces it; a changed engine address does not."""
        changed = [key for key in _KEYS if _olds.get(key) != _news.get(key)]
        return dynamic.DiffResult(changes=bool(changed), replaces=[key for key in changed if key == "hub"])

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Only records the new address."""
        return dynamic.UpdateResult(_known(_news))

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """Stop them. Raises if the engine is unreachable or something is left."""
        # Imported here: previews import this module, and the engine SDK takes a third of a second.
        from components.on_docker.hub_teardown import end_servers  # noqa: PLC0415

        end_servers(str(_props["hub"]), str(_props["engine"]), _props.get("certificates"))


class HubServers(dynamic.Resource, module="gpu-commons", name="HubServers"):
    """Teardown of one hub's servers. Make it depend on the hub's networks, and the hub on it.

    A destroy then removes the hub first, which would start new servers, then the servers, then the networks.
    """

    def __init__(self, name: str, args: HubServersArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(EndsServers(), name, {**args}, opts)


def _known(props: dict[str, Any]) -> dict[str, Any]:
    return {key: props[key] for key in _KEYS if props.get(key) is not None}
