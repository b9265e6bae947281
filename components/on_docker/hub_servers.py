"""HubServers: ends what a hub on a Docker host has started, when the hub goes. The only dynamic resource.

Servers, gateways, kernels and users' networks are started by people and are no resources of a stack: a destroy would
leave them, with the GPUs that they hold. Making this resource does nothing; its removal ends them. Homes, the hub's
database and its credentials stay.

Pulumi keeps a provider in the state as a pickle. Ours is the name of its class alone, no code and no value, so what
an earlier version made is ended by the code of today: this module and `EndsServers` are never renamed.
"""

from __future__ import annotations

from typing import Any, Final, NotRequired, TypedDict

import pulumi
from pulumi import dynamic

_KEYS: Final = ("hub", "engine", "certificates")


class HubServersArgs(TypedDict):
    """Arguments of HubServers."""

    hub: pulumi.Input[str]
    """Name of the hub."""
    engine: pulumi.Input[str]
    """Where the host's engine answers, as in a DockerHost."""
    certificates: NotRequired[pulumi.Input[str]]
    """Folder with ca.pem, cert.pem and key.pem, for an engine at tcp://."""


class EndsServers(dynamic.ResourceProvider):
    """What Pulumi's plugin for dynamic resources calls."""

    serialize_as_secret_always = False  # it holds nothing, and a state should be readable

    def create(self, props: dict[str, Any]) -> dynamic.CreateResult:
        """Only records whose servers they are."""
        return dynamic.CreateResult(str(props["hub"]), _known(props))

    def diff(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.DiffResult:
        """Another hub ends the servers of the first; an engine that moved is the same engine."""
        changed = [key for key in _KEYS if _olds.get(key) != _news.get(key)]
        return dynamic.DiffResult(changes=bool(changed), replaces=[key for key in changed if key == "hub"])

    def update(self, _id: str, _olds: dict[str, Any], _news: dict[str, Any]) -> dynamic.UpdateResult:
        """Only records the new address."""
        return dynamic.UpdateResult(_known(_news))

    def delete(self, _id: str, _props: dict[str, Any]) -> None:
        """End them. Raises with the reason where the engine cannot be reached or something is left."""
        # Not above: a preview imports this module, and the engine's SDK takes a third of a second.
        from components.on_docker.hub_teardown import end_servers  # noqa: PLC0415

        end_servers(str(_props["hub"]), str(_props["engine"]), _props.get("certificates"))


class HubServers(dynamic.Resource, module="gpu-commons", name="HubServers"):
    """The servers of one hub, for their end. Depend on the networks of the hub; the hub itself depends on this.

    Then a destroy removes the hub first, which would start new servers, then the servers, then the networks.
    """

    def __init__(self, name: str, args: HubServersArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__(EndsServers(), name, {**args}, opts)


def _known(props: dict[str, Any]) -> dict[str, Any]:
    return {key: props[key] for key in _KEYS if props.get(key) is not None}
