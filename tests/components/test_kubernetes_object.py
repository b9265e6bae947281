"""An object that is registered by its manifest is the resource that the SDK's class would register."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pulumi
import pytest

from components.on_kubernetes.kubernetes_object import KubernetesObject

SDK = {
    "apps.v1": ("DaemonSet", "Deployment", "StatefulSet"),
    "batch.v1": ("Job",),
    "core.v1": ("ConfigMap", "Namespace", "NamespacePatch", "Node", "NodePatch", "Service", "ServiceAccount"),
    "networking.v1": ("NetworkPolicy",),
    "node.v1": ("RuntimeClass",),
    "rbac.v1": ("ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"),
    "resource.v1": ("ResourceClaimTemplate",),
}
# What the SDK's class cannot be made without, and two keys that it spells in its own way.
NEEDED: dict[str, dict[str, Any]] = {
    **{key: {"spec": {}} for key in ("DaemonSet", "Deployment", "StatefulSet", "ResourceClaimTemplate")},
    "RuntimeClass": {"handler": "nvidia"},
    "RoleBinding": {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "hub"}},
    "ClusterRoleBinding": {"roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "hub"}},
    "ServiceAccount": {"automountServiceAccountToken": False},
}
PYTHON = {"roleRef": "role_ref", "automountServiceAccountToken": "automount_service_account_token"}
METADATA = {"name": "a", "labels": {"app.kubernetes.io/name": "jupyterhub"}}


@pytest.mark.slow
@pytest.mark.parametrize(("module", "kind"), [(module, kind) for module, kinds in SDK.items() for kind in kinds])
def test_it_has_the_type_and_the_inputs_of_the_sdks_class(recorded: Callable[..., Any], module: str, kind: str) -> None:
    manifest = {"metadata": METADATA, **NEEDED.get(kind, {})}
    of_sdk = getattr(import_module(f"pulumi_kubernetes.{module}"), kind)
    arguments = {PYTHON.get(key, key): value for key, value in manifest.items()}
    theirs = recorded(lambda: of_sdk("one", **arguments) and None)
    ours = recorded(lambda: KubernetesObject(kind, "one", manifest) and None)
    assert ours.resources == theirs.resources


def test_its_outputs_are_what_the_api_writes(recorded: Callable[..., Any]) -> None:
    computed = {"kubernetes:core/v1:Service": {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}}

    def program() -> dict[str, pulumi.Output[Any]]:
        made = KubernetesObject("Service", "one", {"metadata": METADATA})
        return {"name": made.metadata["name"], "status": made.status}

    run = recorded(program, computed=computed)
    assert run.outputs == {"name": "a", "status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.7"}]}}}
