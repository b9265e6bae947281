"""A batch job as a Kubernetes Job. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleet import labels
from fleet.defaults import MOST_RETRIES
from kube.pools import one_of, problem, required
from kube.runtime import RUNTIME_CLASS

# Whoever sets these chooses GPUs behind the scheduler's back.
VISIBILITY_VARIABLES = frozenset({"NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})


@dataclass(frozen=True, slots=True)
class JobShape:
    """What a job asks for. CPU in cores, memory and shared memory in GiB, time in seconds."""

    image: Any
    image_name: str
    command: Sequence[str]
    gpus: int
    cpu: float
    memory_gib: float
    shm_gib: float = 0
    retries: int = 0
    deadline_s: int | None = None
    pool: str | None = None
    pools: Sequence[str] | None = None
    queue: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)


def problems(name: str, shape: JobShape) -> list[str]:
    """What is wrong with a job's plain arguments, each as one sentence with value and remedy."""
    found = []
    if not shape.command:
        found.append(f"{name}.command is empty: say what runs, such as [python, train.py]")
    if shape.gpus < 0 or int(shape.gpus) != shape.gpus:
        found.append(f"{name}.gpus is {shape.gpus}: a whole number of GPUs, 0 for none")
    amounts = {"cpu": shape.cpu, "memory_gib": shape.memory_gib}
    found.extend(f"{name}.{key} is {amount}: must be above 0" for key, amount in amounts.items() if amount <= 0)
    if wrong := problem(shape.pool, shape.pools):
        found.append(f"{name}.pools {wrong[0]}: {wrong[1]}")
    if not 0 <= shape.retries <= MOST_RETRIES:
        found.append(f"{name}.retries is {shape.retries}: 0 to {MOST_RETRIES}")
    found.extend(
        f"{name}.env.{key} is set by the device plugin: ask for GPUs by `gpus`"
        for key in shape.env
        if key in VISIBILITY_VARIABLES
    )
    return found


def job_spec(name: str, shape: JobShape) -> dict[str, Any]:
    """Job spec. A job without GPUs is kept from seeing any; one with GPUs tolerates the GPU taint."""
    marks = {"app.kubernetes.io/name": "gpu-job", "app.kubernetes.io/instance": name}
    env = [{"name": key, "value": value} for key, value in sorted(shape.env.items())]
    container: dict[str, Any] = {
        "name": "job",
        "image": shape.image,
        "command": list(shape.command),
        "resources": _resources(shape),
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    pod: dict[str, Any] = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        # Every node of a GPU fleet carries the taint, those that run jobs without a GPU too.
        "tolerations": [{"key": labels.GPU_TAINT.key, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [container],
    }
    if shape.gpus:
        pod["runtimeClassName"] = RUNTIME_CLASS
    else:
        env.append({"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"})
    if env:
        container["env"] = env
    if shape.pool:
        pod["nodeSelector"] = {labels.POOL: shape.pool}
    if shape.pools:
        pod["affinity"] = required(one_of(shape.pools))
    if shape.shm_gib:
        container["volumeMounts"] = [{"name": "shm", "mountPath": "/dev/shm"}]  # noqa: S108 - shared memory, not a file
        pod["volumes"] = [{"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": f"{shape.shm_gib:g}Gi"}}]
    spec: dict[str, Any] = {
        "backoffLimit": shape.retries,
        "template": {"metadata": {"labels": marks, "annotations": {labels.IMAGE: shape.image_name}}},
    }
    if shape.deadline_s:
        spec["activeDeadlineSeconds"] = shape.deadline_s
    if shape.queue:
        spec["suspend"] = True  # Kueue starts it
    spec["template"]["spec"] = pod
    return spec


def _resources(shape: JobShape) -> dict[str, Any]:
    amounts: dict[str, str] = {"cpu": f"{shape.cpu:g}", "memory": f"{shape.memory_gib:g}Gi"}
    if shape.gpus:
        amounts[labels.GPU_RESOURCE] = str(int(shape.gpus))
    return {"requests": dict(amounts), "limits": amounts}
