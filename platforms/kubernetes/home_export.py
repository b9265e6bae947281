"""One NFS export for all homes of a hub, as Kubernetes objects. Pure."""

from __future__ import annotations

from typing import Any, Final

from platforms.kubernetes.homes import EXPORT_CLAIM
from platforms.kubernetes.hub import component_labels, metadata
from workloads.hub import Hub
from workloads.storage import NfsExport

_ANY_SIZE: Final = {"storage": "1Gi"}  # a volume must have one; an export has none that Kubernetes knows


def export_volume(hub: Hub, export: NfsExport) -> dict[str, Any]:
    """The export as a volume for one claim. It is not in the pods, where the namespace allows no NFS."""
    return {
        "metadata": {"labels": component_labels(EXPORT_CLAIM), "name": _volume_name(hub)},
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "capacity": _ANY_SIZE,
            "claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "name": EXPORT_CLAIM,
                "namespace": hub.namespace,
            },
            **({"mountOptions": list(export.options)} if export.options else {}),
            "nfs": {"path": export.path, "server": export.server},
            "persistentVolumeReclaimPolicy": "Retain",
            "storageClassName": "",
        },
    }


def export_claim(hub: Hub) -> dict[str, Any]:
    """The claim of all servers' pods."""
    return {
        "metadata": metadata(hub, EXPORT_CLAIM, EXPORT_CLAIM),
        "spec": {
            "accessModes": ["ReadWriteMany"],
            "resources": {"requests": _ANY_SIZE},
            "storageClassName": "",
            "volumeName": _volume_name(hub),
        },
    }


def _volume_name(hub: Hub) -> str:
    return f"gpu-commons-{EXPORT_CLAIM}-{hub.namespace}"
