"""Parses Pulumi type tokens and ids into Kubernetes kinds, namespaces and names. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Self

# Used only while no server can be reached: every cluster-scoped kind of Kubernetes 1.34 itself.
CLUSTER_KINDS: Final = frozenset(
    {
        "APIService",
        "CSIDriver",
        "CSINode",
        "CertificateSigningRequest",
        "ClusterRole",
        "ClusterRoleBinding",
        "ClusterTrustBundle",
        "CustomResourceDefinition",
        "DeviceClass",
        "FlowSchema",
        "IPAddress",
        "IngressClass",
        "MutatingWebhookConfiguration",
        "Namespace",
        "Node",
        "PersistentVolume",
        "PriorityClass",
        "PriorityLevelConfiguration",
        "ResourceSlice",
        "RuntimeClass",
        "ServiceCIDR",
        "StorageClass",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
        "VolumeAttachment",
        "VolumeAttributesClass",
    }
)


@dataclass(frozen=True, slots=True)
class ObjectKind:
    """`kubernetes:apps/v1:DeploymentPatch` → apps/v1, Deployment, a patch."""

    api_version: str
    kind: str
    is_patch: bool = False

    @classmethod
    def of_token(cls, token: str) -> Self:
        """Raises ValueError for a token that is not an object's."""
        package, version, kind = (*token.split(":"), "", "")[:3]
        if package != "kubernetes" or not kind or ("/" not in version and not version.startswith("v")):
            raise ValueError(f"{token} is not the type of a Kubernetes object, such as kubernetes:apps/v1:Deployment")
        is_patch = kind.endswith("Patch") and kind != "Patch"
        return cls(version.removeprefix("core/"), kind.removesuffix("Patch") if is_patch else kind, is_patch=is_patch)

    @property
    def group(self) -> str:
        return self.api_version.rpartition("/")[0]

    @property
    def is_list(self) -> bool:
        return self.kind.endswith("List") and self.kind != "List"

    def __str__(self) -> str:
        return f"{self.api_version} {self.kind}"


@dataclass(frozen=True, slots=True)
class Served:
    """A kind as this server serves it."""

    api_version: str
    kind: str
    plural: str
    is_namespaced: bool

    def path(self, namespace: str, name: str = "") -> str:
        root = f"/api/{self.api_version}" if "/" not in self.api_version else f"/apis/{self.api_version}"
        place = f"/namespaces/{namespace}" if self.is_namespaced and namespace else ""
        return f"{root}{place}/{self.plural}" + (f"/{name}" if name else "")


def object_id(namespace: str, name: str) -> str:
    """`namespace/name`, or only `name` for an object without namespace."""
    return f"{namespace}/{name}" if namespace else name


def split_id(identifier: str) -> tuple[str, str]:
    """Namespace ("" if the id has none) and name. Raises ValueError for anything else."""
    namespace, _, name = identifier.rpartition("/")
    if not name or "/" in namespace:
        raise ValueError(f'"{identifier}" is not the id of a Kubernetes object: write "name" or "namespace/name"')
    return namespace, name
