"""A batch job as a Kubernetes Job. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import Field

from errors.agreements import check
from errors.problems import Fault
from fleet import labels
from platforms.kubernetes import claims
from platforms.kubernetes.pools import one_of, required
from platforms.kubernetes.runtime import RUNTIME_CLASS
from workloads.amounts import Cores, Count, Gib, GibOrNone, SecondsOrNever
from workloads.arguments import IMAGE_NAME, ImageReference, plain, read
from workloads.names import Line, Name
from workloads.workload import DEADLINE, DEFAULT_USER, Env, JobKeys, OneCommand, chosen_gpus


class Job(JobKeys):
    """Job request. CPU in cores, memory and shared memory in GiB, time in seconds."""

    image: ImageReference
    image_name: Line = Field(description=IMAGE_NAME)
    command: OneCommand
    gpus: Count = Field(description="Whole GPUs; 0 for none: the job then sees no GPU.")
    cpu: Cores = Field(description="CPU cores, request and limit.")
    memory_gib: Gib = Field(description="Memory in GiB, request and limit.")
    shm_gib: GibOrNone | None = Field(
        None,
        description="Shared memory at /dev/shm in GiB, part of the memory; PyTorch data loaders need it.",
    )
    pool: Name | None = Field(None, description="Pool it runs on; none: any node with room.")
    deadline_s: SecondsOrNever | None = Field(None, description=DEADLINE)
    queue: Line | None = Field(
        None,
        description="LocalQueue of Kueue, if installed; the job waits for its turn, and the update does not wait.",
    )
    env: Env = {}  # noqa: RUF012 - pydantic copies it
    claimed_products: tuple[Line, ...] | None = Field(
        None,
        description="Products of GPUs, as `nvidia.com/gpu.product` has them: NVIDIA-L4. With them the job requests "
        "GPUs by a claim (DRA) for NVIDIA's driver, which takes the place of the device plugin in the cluster; none: "
        "by `nvidia.com/gpu`.",
    )
    user: int = Field(DEFAULT_USER, ge=1, le=65535, description="User id of the job, as in its image; root is refused.")

    @check
    def _env(self) -> Iterator[Fault]:
        yield from chosen_gpus(self.env, "the device plugin")

    @property
    def is_claiming(self) -> bool:
        """Whether GPUs come by a claim."""
        return bool(self.gpus and self.claimed_products)


def parse_job(name: str, args: Mapping[str, Any]) -> Job:
    """Arguments of GpuJob without its namespace. Raises SettingsError with every problem."""
    return read(Job, f"GpuJob {name}", name, plain(args))


def job_spec(name: str, shape: Job) -> dict[str, Any]:
    """Job spec. Without GPUs, all are hidden; with GPUs, it tolerates the GPU taint."""
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
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": shape.user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        # All nodes of a GPU fleet have the taint, even those for jobs without GPUs.
        "tolerations": [{"key": labels.GPU_TAINT.key, "operator": "Exists", "effect": "NoSchedule"}],
        "containers": [container],
    }
    if shape.is_claiming:
        pod.update(claims.of_pod(claims.template_name(name)))
    elif shape.gpus:
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


def _resources(shape: Job) -> dict[str, Any]:
    amounts: dict[str, str] = {"cpu": f"{shape.cpu:g}", "memory": f"{shape.memory_gib:g}Gi"}
    if shape.is_claiming:
        return {"requests": dict(amounts), "limits": amounts, "claims": claims.of_container()}
    if shape.gpus:
        amounts[labels.GPU_RESOURCE] = str(shape.gpus)
    return {"requests": dict(amounts), "limits": amounts}
