"""Pods that pull images to a pool's nodes in advance, as Kubernetes objects. Pure."""

from collections.abc import Mapping
from typing import Any

from fleet import labels

_USER = 65534  # nobody: exists in every image


def daemon_set_spec(name: str, pool: str, images: Mapping[str, Any]) -> dict[str, Any]:
    """DaemonSet that pulls `images` (name → reference) to every node of `pool`, one after the other.

    Each image is an init container that exits at once, so `kubectl get pods` shows a node's progress
    (`Init:1/2`), and a failed pull shows as ImagePullBackOff. The last one then sleeps: when cleaning up, the kubelet
    keeps images of running pods, including layers shared with the others.
    """
    selector = {"app.kubernetes.io/name": "pre-puller", "app.kubernetes.io/instance": name}
    *_, last = images
    return {
        "selector": {"matchLabels": selector},
        # No user depends on these pods, so all nodes may update at once.
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "100%"}},
        "template": {
            "metadata": {"labels": selector, "annotations": {labels.IMAGE: ",".join(images)}},
            "spec": {
                "nodeSelector": {labels.POOL: pool},
                "tolerations": [{"operator": "Exists"}],
                "automountServiceAccountToken": False,
                "enableServiceLinks": False,
                "terminationGracePeriodSeconds": 0,
                "securityContext": {
                    "runAsNonRoot": True,
                    "runAsUser": _USER,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "initContainers": [_container(f"pull-{image}", ref, ["true"]) for image, ref in images.items()],
                "containers": [_container("keep", images[last], ["sleep", "infinity"])],
            },
        },
    }


def _container(name: str, image: Any, command: list[str]) -> dict[str, Any]:
    return {
        "name": name,
        "image": image,
        "command": command,
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}],  # CUDA images request all GPUs by themselves
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "64Mi"}},
    }
