"""Pods of a notebook hub: hub, proxy, and the job that creates their credentials. Pure."""

from collections.abc import Mapping
from typing import Any, Final

from fleet import labels
from platforms.kubernetes.hub import (
    ADMIN_CREDENTIALS,
    CONFIG,
    CONFIG_FILE,
    CREDENTIALS,
    HUB,
    HUB_PORT,
    PROXY,
    PROXY_API_PORT,
    PROXY_PORT,
    component_labels,
    metadata,
)
from platforms.kubernetes.hub_access import credentials_names, network_access
from platforms.kubernetes.hub_entry import (
    HTTPS_PORT,
    REDIRECT_PORT,
    TLS_FOLDER,
    proxy_certificate,
    redirect_options,
    tls_secret_name,
)
from workloads.hub import Hub

CONFIG_ANNOTATION = labels.OWN_PREFIX + "config"
CONFIG_FOLDER = "/usr/local/etc/hub_files"  # must be a package name: see hub_files
STATE_FOLDER = "/srv/jupyterhub"
HUB_UID = 1000
PROXY_UID = 65534

CONTAINER_SECURITY = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def hub_stateful_set(hub: Hub, *, config_checksum: Any) -> dict[str, Any]:
    """The hub with its database.

    A StatefulSet, not a Deployment: it creates the database claim itself, never deletes it, and reuses an existing
    one, so the claim outlives `destroy` and replacements; and it never runs two hubs on one SQLite file.
    """
    container = {
        "name": "hub",
        "image": hub.hub_image,
        "command": ["jupyterhub"],
        "args": ["--config", f"{CONFIG_FOLDER}/{CONFIG_FILE}"],
        "workingDir": STATE_FOLDER,
        "env": _hub_environment(hub),
        "ports": [{"name": "http", "containerPort": HUB_PORT, "protocol": "TCP"}],
        # Five minutes to upgrade a database and to check every running server.
        "startupProbe": {**_probe("/hub/health"), "periodSeconds": 2, "failureThreshold": 150},
        "readinessProbe": {**_probe("/hub/health"), "periodSeconds": 5, "timeoutSeconds": 3},
        "livenessProbe": {**_probe("/hub/health"), "periodSeconds": 10, "timeoutSeconds": 5, "failureThreshold": 6},
        "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": [
            {"name": "config", "mountPath": CONFIG_FOLDER, "readOnly": True},
            {"name": "database", "mountPath": STATE_FOLDER},
        ],
    }
    pod = {
        **core_pod(hub, uid=HUB_UID),
        "serviceAccountName": HUB,
        "automountServiceAccountToken": True,
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": CONFIG}}],
    }
    return {
        "metadata": metadata(hub, HUB, HUB),
        "spec": {
            "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
            # OrderedReady waits forever for a broken pod before replacing it with the repaired one.
            "podManagementPolicy": "Parallel",
            "replicas": 1,
            "selector": {"matchLabels": component_labels(HUB)},
            "serviceName": HUB,
            "template": {
                "metadata": {
                    "annotations": {labels.IMAGE: hub.hub_image_name, CONFIG_ANNOTATION: config_checksum},
                    "labels": {
                        **component_labels(HUB),
                        **network_access("proxy-api", "proxy-http", "singleuser"),
                    },
                },
                "spec": pod,
            },
            "volumeClaimTemplates": [_database_claim(hub)],
        },
    }


def proxy_deployment(hub: Hub) -> dict[str, Any]:
    """configurable-http-proxy in its own pod: users stay connected to their servers while the hub restarts."""
    has_tls = proxy_certificate(hub) is not None
    container = {
        "name": "proxy",
        "image": hub.proxy_image,
        "command": ["sh", "-c", SHOW_CERTIFICATE, "sh"] if has_tls else ["configurable-http-proxy"],
        "args": [
            "--ip=0.0.0.0",
            *_entry_options(hub),
            "--api-ip=0.0.0.0",
            f"--api-port={PROXY_API_PORT}",
            f"--default-target=http://hub:{HUB_PORT}",
            f"--error-target=http://hub:{HUB_PORT}/hub/error",
        ],
        "env": [_secret_variable("CONFIGPROXY_AUTH_TOKEN", CREDENTIALS, "proxy-token")],
        "ports": [
            *_entry_ports(hub),
            {"name": "api", "containerPort": PROXY_API_PORT, "protocol": "TCP"},
        ],
        "readinessProbe": {**_proxy_probe(has_tls=has_tls), "periodSeconds": 2, "failureThreshold": 30},
        "livenessProbe": {**_proxy_probe(has_tls=has_tls), "initialDelaySeconds": 60, "periodSeconds": 10},
        "resources": {"requests": {"cpu": "50m", "memory": "128Mi"}},
        "securityContext": {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True},
        **_tls_parts(hub, mounts=True),
    }
    return {
        "metadata": metadata(hub, PROXY, PROXY),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": component_labels(PROXY)},
            # Routes live in the proxy's memory: of two proxies, one would not have them.
            "strategy": {"type": "Recreate"},
            "template": {
                "metadata": {
                    "annotations": {labels.IMAGE: hub.proxy_image_name},
                    "labels": {**component_labels(PROXY), **network_access("hub", "singleuser")},
                },
                "spec": {
                    **core_pod(hub, uid=PROXY_UID),
                    "automountServiceAccountToken": False,
                    "containers": [container],
                    **_tls_parts(hub, mounts=False),
                },
            },
        },
    }


# The proxy reads its certificate once. The shell beside it ends it when the kubelet has brought a renewed one, and the
# kubelet starts it again: people's pages reconnect.
SHOW_CERTIFICATE: Final = f"""\
cert() {{ cat {TLS_FOLDER}/tls.crt; }}
shown=$(cert)
configurable-http-proxy "$@" &
proxy=$!
trap 'kill "$proxy"' TERM INT
while [ "$(cert)" = "$shown" ]; do sleep 60; done && kill "$proxy" &
wait "$proxy" # ends at a signal, before the proxy does
wait "$proxy"
"""


def _entry_options(hub: Hub) -> list[str]:
    if proxy_certificate(hub) is None:
        return [f"--port={PROXY_PORT}"]
    files = [f"--ssl-cert={TLS_FOLDER}/tls.crt", f"--ssl-key={TLS_FOLDER}/tls.key"]
    return [f"--port={HTTPS_PORT}", *files, *redirect_options(hub)]


def _entry_ports(hub: Hub) -> list[dict[str, Any]]:
    named = {"http": PROXY_PORT} if proxy_certificate(hub) is None else {"https": HTTPS_PORT}
    named |= {"redirect": REDIRECT_PORT} if redirect_options(hub) else {}
    return [{"name": name, "containerPort": port, "protocol": "TCP"} for name, port in named.items()]


def _proxy_probe(*, has_tls: bool) -> dict[str, Any]:
    request = {"path": "/_chp_healthz", "port": "https" if has_tls else "http"}
    return {"httpGet": {**request, **({"scheme": "HTTPS"} if has_tls else {})}}


def _tls_parts(hub: Hub, *, mounts: bool) -> dict[str, Any]:
    """The Secret with the proxy's certificate, as a volume or as its mount; empty without one."""
    certificate = proxy_certificate(hub)
    if certificate is None:
        return {}
    if mounts:
        return {"volumeMounts": [{"name": "tls", "mountPath": TLS_FOLDER, "readOnly": True}]}
    return {"volumes": [{"name": "tls", "secret": {"secretName": tls_secret_name(certificate)}}]}


def credentials_job(hub: Hub, *, script: str) -> dict[str, Any]:
    """The job that creates the Secrets once; it leaves existing ones unchanged and succeeds."""
    container = {
        "name": "credentials",
        "image": hub.hub_image,
        "command": ["python3", "-c", script, hub.namespace, *credentials_names(hub)],
        "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
        "securityContext": {**CONTAINER_SECURITY, "readOnlyRootFilesystem": True},
    }
    pod = {
        **core_pod(hub, uid=HUB_UID),
        "serviceAccountName": CREDENTIALS,
        "automountServiceAccountToken": True,
        "restartPolicy": "Never",
        "containers": [container],
    }
    return {
        "metadata": metadata(hub, CREDENTIALS, CREDENTIALS),
        "spec": {
            # A restarting API server is the usual cause of failure.
            "backoffLimit": 6,
            "template": {
                "metadata": {
                    "annotations": {labels.IMAGE: hub.hub_image_name},
                    "labels": component_labels(CREDENTIALS),
                },
                "spec": pod,
            },
        },
    }


def _hub_environment(hub: Hub) -> list[dict[str, Any]]:
    variables = [
        _secret_variable("CONFIGPROXY_AUTH_TOKEN", CREDENTIALS, "proxy-token"),
        _secret_variable("JPY_COOKIE_SECRET", CREDENTIALS, "cookie-secret"),
    ]
    if hub.authenticator.kind == "dummy":
        variables.append(_secret_variable("DUMMY_PASSWORD", CREDENTIALS, "dummy-password"))
    if hub.login.has_admin_password:
        variables.append(_secret_variable("ADMIN_PASSWORD", ADMIN_CREDENTIALS, "admin-password"))
    if secret := hub.login.client_secret:
        variables.append(_secret_variable("OAUTH_CLIENT_SECRET", secret.secret, secret.key))
    return variables


def _secret_variable(variable: str, name: str, key: str) -> dict[str, Any]:
    return {"name": variable, "valueFrom": {"secretKeyRef": {"name": name, "key": key}}}


def _probe(path: str) -> dict[str, Any]:
    return {"httpGet": {"path": path, "port": "http"}}


def core_pod(hub: Hub, *, uid: int) -> dict[str, Any]:
    """Common fields of the hub's own pods: placement and user."""
    selector: Mapping[str, str] = hub.core_selector
    return {
        # Otherwise every service becomes environment variables, and programs interpret HUB_… or PROXY_….
        "enableServiceLinks": False,
        **({"nodeSelector": dict(selector)} if selector else {}),
        "securityContext": {
            "fsGroup": uid,
            "fsGroupChangePolicy": "OnRootMismatch",
            "runAsGroup": uid,
            "runAsNonRoot": True,
            "runAsUser": uid,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "tolerations": [each.manifest() for each in hub.core_tolerations],
    }


def _database_claim(hub: Hub) -> dict[str, Any]:
    spec: dict[str, Any] = {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{hub.storage.database.size_gib:g}Gi"}},
    }
    if hub.storage.database.storage_class:
        spec["storageClassName"] = hub.storage.database.storage_class
    # This name makes the claim database-hub-0.
    return {"metadata": {"name": "database", "labels": component_labels(HUB)}, "spec": spec}
