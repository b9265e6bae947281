"""Service that counts free places: an account that may list nodes and pods, and a pod only the hub may call.

Pure. The hub's own rights stay within its namespace.
"""

from typing import Any

from fleet import labels
from platforms.kubernetes import hub_access, hub_core_pods
from platforms.kubernetes.hub import AVAILABILITY_FILE, CONFIG, HUB, checksum, component_labels, metadata
from platforms.kubernetes.user_pods import AVAILABILITY, AVAILABILITY_PORT, render_availability
from workloads.hub import Hub

PROGRAM = "availability.py"


def cluster_name(hub: Hub) -> str:
    """Name of cluster-wide objects: one per hub."""
    return f"gpu-commons-{AVAILABILITY}-{hub.namespace}"


def cluster_role(hub: Hub) -> dict[str, Any]:
    """Read access to all nodes and pods of the cluster only, because others' pods hold GPUs too."""
    rule = {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["list"]}
    return {"metadata": {"labels": component_labels(AVAILABILITY), "name": cluster_name(hub)}, "rules": [rule]}


def cluster_role_binding(hub: Hub) -> dict[str, Any]:
    """Binds it to the service's account only."""
    return {
        "metadata": {"labels": component_labels(AVAILABILITY), "name": cluster_name(hub)},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": cluster_name(hub)},
        "subjects": [{"kind": "ServiceAccount", "name": AVAILABILITY, "namespace": hub.namespace}],
    }


def network_policy(hub: Hub) -> dict[str, Any]:
    """Ingress only from the hub; egress only to the API server, whose address is unknown here."""
    return hub_access.policy(
        hub,
        AVAILABILITY,
        AVAILABILITY,
        ingress=[
            {
                "from": [{"podSelector": {"matchLabels": component_labels(HUB)}}],
                "ports": [{"port": AVAILABILITY_PORT, "protocol": "TCP"}],
            }
        ],
        egress=hub_access.anywhere_but_metadata(),
    )


def service(hub: Hub) -> dict[str, Any]:
    """The hub's endpoint."""
    ports = [{"name": "http", "protocol": "TCP", "port": AVAILABILITY_PORT, "targetPort": "http"}]
    spec = {"type": "ClusterIP", "ports": ports, "selector": component_labels(AVAILABILITY)}
    return {"metadata": metadata(hub, AVAILABILITY, AVAILABILITY), "spec": spec}


def deployment(hub: Hub, *, program: str) -> dict[str, Any]:
    """The service. A changed program or profile restarts it."""
    mounted = {PROGRAM: program, AVAILABILITY_FILE: render_availability(hub)}
    probe = {"httpGet": {"path": "/health", "port": "http"}}
    container = {
        "name": AVAILABILITY,
        "image": hub.hub_image,
        "command": ["python3", f"{hub_core_pods.CONFIG_FOLDER}/{PROGRAM}"],
        "ports": [{"name": "http", "containerPort": AVAILABILITY_PORT, "protocol": "TCP"}],
        "readinessProbe": {**probe, "periodSeconds": 2, "failureThreshold": 30},
        "livenessProbe": {**probe, "initialDelaySeconds": 30, "periodSeconds": 10, "timeoutSeconds": 5},
        "resources": {"requests": {"cpu": "10m", "memory": "64Mi"}},
        "securityContext": {**hub_core_pods.CONTAINER_SECURITY, "readOnlyRootFilesystem": True},
        "volumeMounts": [{"name": "config", "mountPath": hub_core_pods.CONFIG_FOLDER, "readOnly": True}],
    }
    items = [{"key": name, "path": name} for name in sorted(mounted)]
    pod = {
        **hub_core_pods.core_pod(hub, uid=hub_core_pods.HUB_UID),
        "serviceAccountName": AVAILABILITY,
        "automountServiceAccountToken": True,
        "containers": [container],
        "volumes": [{"name": "config", "configMap": {"name": CONFIG, "items": items}}],
    }
    annotations = {labels.IMAGE: hub.hub_image_name, hub_core_pods.CONFIG_ANNOTATION: checksum(mounted)}
    return {
        "metadata": metadata(hub, AVAILABILITY, AVAILABILITY),
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": component_labels(AVAILABILITY)},
            "template": {
                "metadata": {"annotations": annotations, "labels": component_labels(AVAILABILITY)},
                "spec": pod,
            },
        },
    }
