"""Service accounts, roles and network policies in a hub's namespace. Pure."""

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
from platforms.kubernetes.hub_entry import HTTPS_PORT, REDIRECT_PORT, proxy_certificate, redirect_options
from workloads.hub import Hub

# Addresses closed to notebooks: the site's networks, link-local and cloud metadata.
PRIVATE_IPV4 = ["10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16"]
PRIVATE_IPV6 = ["::1/128", "fc00::/7", "fe80::/10"]
METADATA_IPV4 = ["169.254.169.254/32"]
METADATA_IPV6 = ["fd00:ec2::254/128"]


def network_access(*targets: str) -> dict[str, str]:
    """Pod labels for access to hub, singleuser, proxy-api or proxy-http; named as in zero-to-jupyterhub."""
    return {f"hub.jupyter.org/network-access-{target}": "true" for target in targets}


def service_account(hub: Hub, name: str, component: str) -> dict[str, Any]:
    """A service account whose token is mounted only on request."""
    return {"metadata": metadata(hub, name, component), "automountServiceAccountToken": False}


def hub_role(hub: Hub) -> dict[str, Any]:
    """Rights that KubeSpawner 7.1 needs here.

    It deletes a claim only after a start that made it and never ran: homes outlive accounts. No secrets and no
    services: only internal TLS needs those.
    """
    rules = [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "delete", "list", "watch"]},
        {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["create", "delete", "get"]},
        {"apiGroups": [""], "resources": ["events"], "verbs": ["list", "watch"]},
    ]
    return {"metadata": metadata(hub, HUB, HUB), "rules": rules}


def credentials_names(hub: Hub) -> list[str]:
    """Names of Secrets generated in the cluster."""
    return [CREDENTIALS, *([ADMIN_CREDENTIALS] if hub.login.has_admin_password else [])]


def credentials_role(hub: Hub) -> dict[str, Any]:
    """Rights on the hub's own Secrets by name.

    `create` can be limited to a name because the step uses server-side apply, which has the name in the
    request path; a plain POST has no name to compare and is refused.
    """
    rule = {
        "apiGroups": [""],
        "resourceNames": credentials_names(hub),
        "resources": ["secrets"],
        "verbs": ["create", "get", "patch"],
    }
    return {"metadata": metadata(hub, CREDENTIALS, CREDENTIALS), "rules": [rule]}


def role_binding(hub: Hub, name: str, component: str) -> dict[str, Any]:
    """Binds the role to the service account of the same name."""
    return {
        "metadata": metadata(hub, name, component),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
        "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": hub.namespace}],
    }


def network_policies(hub: Hub) -> dict[str, dict[str, Any]]:
    """Network policies by kind of pod. They need a cluster network plugin that enforces them."""
    return {
        HUB: policy(
            hub,
            HUB,
            HUB,
            ingress=[_from("hub", HUB_PORT)],
            egress=anywhere_but_metadata(),  # an identity provider's address is unknown here too
        ),
        PROXY: policy(
            hub,
            PROXY,
            PROXY,
            ingress=[{"ports": _proxy_ports(hub)}, _from("proxy-api", PROXY_API_PORT)],
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
    """Egress of clients of the API server, whose address is unknown here."""
    return [{"to": _everything_but(METADATA_IPV4, METADATA_IPV6)}]


def policy(
    hub: Hub, name: str, component: str, *, ingress: list[dict[str, Any]], egress: list[dict[str, Any]]
) -> dict[str, Any]:
    """Policy for one component's pods, in both directions."""
    return {
        "metadata": metadata(hub, name, component),
        "spec": {
            "egress": egress,
            "ingress": ingress,
            "podSelector": {"matchLabels": component_labels(component)},
            "policyTypes": ["Ingress", "Egress"],
        },
    }


def _proxy_ports(hub: Hub) -> list[dict[str, Any]]:
    redirect = _tcp(REDIRECT_PORT) if redirect_options(hub) else []
    return [*(_tcp(HTTPS_PORT) if proxy_certificate(hub) else _tcp(PROXY_PORT)), *redirect]


def _tcp(port: int) -> list[dict[str, Any]]:
    return [{"port": port, "protocol": "TCP"}]


def _from(target: str, port: int) -> dict[str, Any]:
    return {"from": [{"podSelector": {"matchLabels": network_access(target)}}], "ports": _tcp(port)}


def _to(component: str, port: int) -> dict[str, Any]:
    return {"to": [{"podSelector": {"matchLabels": component_labels(component)}}], "ports": _tcp(port)}


def _dns() -> dict[str, Any]:
    # Any address: cluster DNS may be a pod, a daemon on a link-local address, or the cloud's.
    return {"ports": [{"port": 53, "protocol": "UDP"}, {"port": 53, "protocol": "TCP"}]}


def _everything_but(ipv4: list[str], ipv6: list[str]) -> list[dict[str, Any]]:
    return [{"ipBlock": {"cidr": "0.0.0.0/0", "except": ipv4}}, {"ipBlock": {"cidr": "::/0", "except": ipv6}}]
