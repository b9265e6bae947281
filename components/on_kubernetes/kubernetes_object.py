"""A Kubernetes object from its manifest. The SDK's own classes take most of a second to import."""

from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from typing import Any, Final

import pulumi

# API version of each kind that components create, patch or read.
_APIS: Final = {
    **dict.fromkeys(("ConfigMap", "Namespace", "Node", "Secret", "Service", "ServiceAccount"), "core/v1"),
    **dict.fromkeys(("PersistentVolume", "PersistentVolumeClaim"), "core/v1"),
    **dict.fromkeys(("DaemonSet", "Deployment", "StatefulSet"), "apps/v1"),
    **dict.fromkeys(("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"), "rbac.authorization.k8s.io/v1"),
    **dict.fromkeys(("Ingress", "NetworkPolicy"), "networking.k8s.io/v1"),
    "Certificate": "cert-manager.io/v1",
    "HTTPRoute": "gateway.networking.k8s.io/v1",
    "CustomResourceDefinition": "apiextensions.k8s.io/v1",
    "Job": "batch/v1",
    "ResourceClaimTemplate": "resource.k8s.io/v1",
    "RuntimeClass": "node.k8s.io/v1",
}


class KubernetesObject(pulumi.CustomResource):
    """Registers the same resource as the SDK's class of its kind, with outputs as the API writes them.

    Its input is a manifest written by a pure function; of the SDK, only `Provider` is worth importing.
    The state does not differ from the SDK's.
    """

    metadata: pulumi.Output[Any]
    status: pulumi.Output[Any]
    """None for kinds without status and until a controller writes it."""

    def __init__(
        self, kind: str, name: str, manifest: Mapping[str, Any], opts: pulumi.ResourceOptions | None = None
    ) -> None:
        """Register an object such as Deployment or, to patch an object, NodePatch."""
        object_kind = kind.removesuffix("Patch")
        api = _APIS[object_kind]
        identity = {"apiVersion": api.removeprefix("core/"), "kind": object_kind}
        # The keys become outputs. The provider fills in those without a value.
        properties = {"metadata": None, "status": None, **manifest, **identity}
        own = pulumi.ResourceOptions(version=_plugin_version())
        super().__init__(f"kubernetes:{api}:{kind}", name, properties, pulumi.ResourceOptions.merge(own, opts))


@cache
def _plugin_version() -> str:
    return version("pulumi-kubernetes")
