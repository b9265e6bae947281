"""Pods that bring images to the nodes of a pool before anybody waits for them, as Kubernetes objects. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fleet import labels

_USER = 65534  # nobody: every image has the number


def daemon_set_spec(name: str, pool: str, images: Mapping[str, Any]) -> dict[str, Any]:
    """DaemonSet that pulls `images` (name → reference) to every node of `pool`, one after the other.

    Each image is an init container that ends at once, so `kubectl get pods` shows which of them a node has
    (`Init:1/2`), and one that cannot be pulled shows as ImagePullBackOff. The last one then sleeps: the kubelet keeps
    images of running pods when it cleans up, the shared layers of the others too.
    """
    selector = {"app.kubernetes.io/name": "pre-puller", "app.kubernetes.io/instance": name}
    *_, last = images
    return {
        "selector": {"matchLabels": selector},
        # Nobody uses these pods, so all nodes may take a new image at once.
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
        "env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}],  # an image of CUDA's asks for all GPUs itself
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {"requests": {"cpu": "1m", "memory": "8Mi"}, "limits": {"memory": "64Mi"}},
    }
