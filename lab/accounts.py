"""Service accounts for lab processes that would be pods on a real cluster: CoreDNS, the volume provisioner.

They get the rights in their publishers' manifests, and a kubeconfig with the account's token.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from lab import certificates, files
from lab.cluster import wait_until

if TYPE_CHECKING:
    from pathlib import Path

    from lab.cluster import Cluster
    from lab.instance import Instance

Rule = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class Account:
    """A service account, its rights in the whole cluster and in its own namespace."""

    namespace: str
    name: str
    rules: Sequence[Rule] = ()
    own_rules: Sequence[Rule] = field(default=())


def ensure(instance: Instance, cluster: Cluster, account: Account) -> Path:
    """Create the account, its rights and token; return its kubeconfig (0600). Safe to repeat."""
    for path, body in objects(account):
        cluster.apply(path, body)
    token = _token(cluster, account)
    name = f"gpu-commons-{instance.name}"
    server = {"server": instance.apiserver_url, "certificate-authority": str(certificates.authority(instance))}
    kubeconfig = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": server}],
        "users": [{"name": account.name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": account.name}}],
        "current-context": name,
    }
    target = instance.config / "kubeconfigs" / account.name
    target.parent.mkdir(exist_ok=True, mode=0o700)
    return files.write(target, yaml.safe_dump(kubeconfig, sort_keys=False), mode=0o600)


def objects(account: Account) -> list[tuple[str, dict[str, Any]]]:
    """API path and object of everything the account needs."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    group = "rbac.authorization.k8s.io"
    core = f"/api/v1/namespaces/{account.namespace}"
    name = f"gpu-commons-lab:{account.name}"
    subjects = [{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}]
    meta = {"name": account.name, "namespace": account.namespace}
    token_of = {**meta, "annotations": {"kubernetes.io/service-account.name": account.name}}
    found: list[tuple[str, dict[str, Any]]] = [
        (f"/api/v1/namespaces/{account.namespace}", _object("v1", "Namespace", {"name": account.namespace})),
        (f"{core}/serviceaccounts/{account.name}", _object("v1", "ServiceAccount", meta)),
        (
            f"{core}/secrets/{account.name}",
            _object("v1", "Secret", token_of, type="kubernetes.io/service-account-token"),
        ),
        (
            f"{rbac}/clusterroles/{name}",
            _object(f"{group}/v1", "ClusterRole", {"name": name}, rules=list(account.rules)),
        ),
        (
            f"{rbac}/clusterrolebindings/{name}",
            _object(
                f"{group}/v1",
                "ClusterRoleBinding",
                {"name": name},
                roleRef={"apiGroup": group, "kind": "ClusterRole", "name": name},
                subjects=subjects,
            ),
        ),
    ]
    if account.own_rules:
        here = f"{rbac}/namespaces/{account.namespace}"
        role = _object(f"{group}/v1", "Role", meta, rules=list(account.own_rules))
        binding = _object(
            f"{group}/v1",
            "RoleBinding",
            meta,
            roleRef={"apiGroup": group, "kind": "Role", "name": account.name},
            subjects=subjects,
        )
        found += [(f"{here}/roles/{account.name}", role), (f"{here}/rolebindings/{account.name}", binding)]
    return found


def _object(api_version: str, kind: str, metadata: Mapping[str, Any], **rest: Any) -> dict[str, Any]:
    return {"apiVersion": api_version, "kind": kind, "metadata": dict(metadata), **rest}


def _token(cluster: Cluster, account: Account) -> str:
    path = f"/api/v1/namespaces/{account.namespace}/secrets/{account.name}"
    found: list[str] = []

    def missing() -> set[str]:
        found[:] = [text for text in [((cluster.get(path) or {}).get("data") or {}).get("token")] if text]
        return set() if found else {f"{account.namespace}/{account.name}"}

    wait_until(missing, within_s=30, what="service accounts without a token (is the controller manager well?)")
    return base64.b64decode(found[0]).decode()
