"""Who may do what in a hub's namespace: service accounts, roles and network policies. Pure."""

from __future__ import annotations

from typing import Any

from platforms.kubernetes.hub import (
    ADMIN_CREDENTIALS,
    CREDENTIALS,
    HUB,
    HUB_PORT,
    NOTEBOOK_PORT,
    PROXY,
    PROXY_API_PORT,
    PROXY_PORT,
    USER_COMPONENT,
    component_labels,
    metadata,
)
from workloads.hub import Hub

# Addresses that a notebook has no business with: the site's own networks, link-local and cloud metadata.
PRIVATE_IPV4 = ["10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"]
PRIVATE_IPV6 = ["::1/128", "fc00::/7", "fe80::/10"]
METADATA_IPV4 = ["169.254.169.254/32"]
METADATA_IPV6 = ["fd00:ec2::254/128"]


def network_access(*targets: str) -> dict[str, str]:
    """Pod labels that open the way to hub, singleuser, proxy-api or proxy-http; words of zero-to-jupyterhub."""
    return {f"hub.jupyter.org/network-access-{target}": "true" for target in targets}


def service_account(hub: Hub, name: str, component: str) -> dict[str, Any]:
    """A service account whose token only reaches pods that ask for it."""
    return {"metadata": metadata(hub, name, component), "automountServiceAccountToken": False}


def hub_role(hub: Hub) -> dict[str, Any]:
    """What KubeSpawner 7.1 does here: no more.

    No `delete` on claims (homes outlive accounts), no secrets and no services: those are for internal TLS only.
    """
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete", "list", "watch"]},
        {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["create", "get"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["list", "watch"]},
    ]
    return {"metadata": metadata(hub, HUB, HUB), "rules": rules}


def credentials_names(hub: Hub) -> list[str]:
    """The Secrets that are generated in the cluster."""
    return [CREDENTIALS, *([ADMIN_CREDENTIALS] if hub.login.has_admin_password else [])]


def credentials_role(hub: Hub) -> dict[str, Any]:
    """Rights on the hub's own Secrets by name.

    `create` can be bound to a name here because the step creates by server-side apply, which names the object in the
    request's path; a plain POST has no name to compare and is refused.
    """
    rule = {
        "apiGroups": [""],
        "resourceNames": credentials_names(hub),
        "resources": ["secrets"],
        "verbs": ["create", "get", "patch"],
    }
    return {"metadata": metadata(hub, CREDENTIALS, CREDENTIALS), "rules": [rule]}


def role_binding(hub: Hub, name: str, component: str) -> dict[str, Any]:
    """Gives the role to the service account of the same name."""
    return {
        "metadata": metadata(hub, name, component),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": hub.namespace}],
    }


def network_policies(hub: Hub) -> dict[str, dict[str, Any]]:
    """Policy of each kind of pod by its name. They hold only where the cluster's network plugin enforces them."""
    return {
        HUB: policy(
            hub,
            HUB,
            HUB,
            ingress=[_from("hub", HUB_PORT)],
            egress=anywhere_but_metadata(),  # and an identity provider's address is not known here either
        ),
        PROXY: policy(
            hub,
            PROXY,
            PROXY,
            ingress=[{"ports": _tcp(PROXY_PORT)}, _from("proxy-api", PROXY_API_PORT)],
            egress=[_to(HUB, HUB_PORT), _to(USER_COMPONENT, NOTEBOOK_PORT), _dns()],
        ),
        "singleuser": policy(
            hub,
            "singleuser",
            USER_COMPONENT,
            ingress=[_from("singleuser", NOTEBOOK_PORT)],
            egress=[_to(HUB, HUB_PORT), _dns(), {"to": _everything_but(PRIVATE_IPV4, PRIVATE_IPV6)}],
        ),
        CREDENTIALS: policy(
            hub,
            CREDENTIALS,
            CREDENTIALS,
            ingress=[],
            egress=anywhere_but_metadata(),
        ),
    }


def anywhere_but_metadata() -> list[dict[str, Any]]:
    """Egress of those that ask the API server, whose address is not known here."""
    return [{"to": _everything_but(METADATA_IPV4, METADATA_IPV6)}]


def policy(
    hub: Hub, name: str, component: str, *, ingress: list[dict[str, Any]], egress: list[dict[str, Any]]
) -> dict[str, Any]:
    """Policy of the pods of one component, in both directions."""
    return {
        "metadata": metadata(hub, name, component),
        "spec": {
            "egress": egress,
            "ingress": ingress,
            "podSelector": {"matchLabels": component_labels(component)},
            "policyTypes": ["Ingress", "Egress"],
        },
    }


def _tcp(port: int) -> list[dict[str, Any]]:
    return [{"port": port, "protocol": "TCP"}]


def _from(target: str, port: int) -> dict[str, Any]:
    return {"from": [{"podSelector": {"matchLabels": network_access(target)}}], "ports": _tcp(port)}


def _to(component: str, port: int) -> dict[str, Any]:
    return {"to": [{"podSelector": {"matchLabels": component_labels(component)}}], "ports": _tcp(port)}


def _dns() -> dict[str, Any]:
    # Any address: the cluster's DNS may be a pod, a daemon on a link-local address, or the cloud's.
    return {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}


def _everything_but(ipv4: list[str], ipv6: list[str]) -> list[dict[str, Any]]:
    return [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ipv4}}, {"ipBlock": {"cidr": "::/0", "except": ipv6}}]
