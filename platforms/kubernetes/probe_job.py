"""A Kubernetes Job that probes one node of a cluster. Pure.

It sees what every pod with one GPU sees: no host path, no cluster rights, nothing that Pod Security's
`restricted` refuses. The program is passed as argument, so only the Job has to be removed.
"""

from typing import Any, Final

from fleet import labels

CONTAINER: Final = "probe"
_NOBODY: Final = 65534
_KEPT_S: Final = 600  # after its end, if the caller cannot delete it


def probe_job(  # noqa: PLR0913 - a value of the manifest each
    name: str, *, node: str, image: str, program: str, deadline_s: int, runtime_class: str | None
) -> dict[str, Any]:
    """Manifest without a namespace. `program`: text of `platforms.docker.probe`, for the image's `python3`.

    The scheduler reserves a GPU, as for any pod; the node is selected by name, which needs no label, and every
    taint is tolerated: the user chose that node, perhaps because it is cordoned.
    """
    marks = {"app.kubernetes.io/name": "gpu-commons-probe", "app.kubernetes.io/instance": name}
    amounts = {"cpu": "100m", "memory": "256Mi", labels.GPU_RESOURCE: "1"}
    container = {
        "name": CONTAINER,
        "image": image,
        "command": ["python3", "-c", program, "--json"],
        "env": [
            {"name": "GPU_COMMONS_NODE", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            {"name": "NVIDIA_DRIVER_CAPABILITIES", "value": "compute,utility"},  # NVML, which few images request
        ],
        "resources": {"requests": dict(amounts), "limits": amounts},
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
    }
    named = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [node]}]}
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": _NOBODY,
            "runAsGroup": _NOBODY,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "affinity": {
            "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [named]}}
        },
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
    }
    if runtime_class:
        pod["runtimeClassName"] = runtime_class
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": marks},
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": deadline_s,
            "ttlSecondsAfterFinished": _KEPT_S,
            "template": {"metadata": {"labels": dict(marks)}, "spec": pod},
        },
    }
