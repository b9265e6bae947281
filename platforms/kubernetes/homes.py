"""Homes in users' pods: a claim for each user, or a folder of one NFS export. Pure.

`home_export` has the objects for the export.
"""

from __future__ import annotations

from typing import Any, Final

from workloads.hub import Hub, Profile

HOME: Final = "/home/jovyan"
HOME_VOLUME: Final = "home"
EXPORT_CLAIM: Final = "homes"  # of all servers' pods
USER_UID: Final = 1000
USER_GROUP: Final = 100
CONTAINER_SECURITY: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_EXPORT: Final = "/homes"


def spawner_options(hub: Hub) -> dict[str, Any]:
    """KubeSpawner's options for homes."""
    homes, mount = hub.storage.homes, {"mountPath": HOME, "name": HOME_VOLUME}
    if homes.nfs is not None:
        mount["subPath"] = "{username}"
        claim = EXPORT_CLAIM
        claims: dict[str, Any] = {"storage_pvc_ensure": False}
    else:
        claim = "{pvc_name}"
        claims = {
            "storage_access_modes": [homes.access],
            "storage_capacity": f"{homes.size_gib:g}Gi",
            **({"storage_class": homes.storage_class} if homes.storage_class else {}),
            "storage_pvc_ensure": True,
        }
    return {
        **claims,
        "volume_mounts": {HOME_VOLUME: mount},
        "volumes": {HOME_VOLUME: {"name": HOME_VOLUME, "persistentVolumeClaim": {"claimName": claim}}},
    }


def profile_options(hub: Hub, profile: Profile) -> dict[str, Any]:
    """For an export: the container that makes the user's folder, as the user.

    Left to itself the kubelet would make it as root: for root, and not at all where an export squashes root.
    """
    if hub.storage.homes.nfs is None:
        return {}
    container = {
        "name": "home",
        "image": profile.image_name,
        "command": ["mkdir", "-p", "-m", "0700", f"{_EXPORT}/{{username}}"],
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}},
        "securityContext": {**CONTAINER_SECURITY, "runAsGroup": USER_GROUP, "runAsUser": USER_UID},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"mountPath": _EXPORT, "name": HOME_VOLUME}],
    }
    return {"init_containers": [container]}
