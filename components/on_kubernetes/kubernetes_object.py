"""An object of Kubernetes from its manifest. The SDK has classes for them, which take most of a second to import."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Final

import pulumi

# The API of each kind that components make, patch or read.
_APIS: Final = {
    **dict.fromkeys(("ConfigMap", "Namespace", "Node", "Service", "ServiceAccount"), "core/v1"),
    **dict.fromkeys(("DaemonSet", "Deployment", "StatefulSet"), "apps/v1"),
    **dict.fromkeys(("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"), "rbac.authorization.k8s.io/v1"),
    "Job": "batch/v1",
    "NetworkPolicy": "networking.k8s.io/v1",
    "ResourceClaimTemplate": "resource.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
}


class KubernetesObject(pulumi.CustomResource):
    """What the SDK's class of the same kind would register, with outputs as the API writes them.

    What goes into it is a manifest that a pure function has written; of the SDK, only `Provider` is worth its import.
    A state does not tell one from the other.
    """

    metadata: pulumi.Output[Any]
    status: pulumi.Output[Any]
    """None for kinds without one, and until a controller has written it."""

    def __init__(
        self, kind: str, name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register an object of a kind such as Deployment or, for a patch of an object, NodePatch."""
        object_kind = kind.removesuffix("Patch")
        api = _APIS[object_kind]
        identity = {"apiVersion": api.removeprefix("core/"), "kind": object_kind}
        # The keys become outputs. Where nothing is given, the provider says what it is.
        properties = {"metadata": None, "status": None, **manifest, **identity}
        own = pulumi.ResourceOptions(version=_plugin_version())
        super().__init__(f"kubernetes:{api}:{kind}", name, properties, pulumi.ResourceOptions.merge(own, opts))


@cache
def _plugin_version() -> str:
    return version("pulumi-kubernetes")
