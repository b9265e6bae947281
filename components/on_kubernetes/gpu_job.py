"""GpuJob: one batch job with an explicit GPU request."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from components.on_kubernetes.kubernetes_object import KubernetesObject
from errors.problems import SettingsError
from platforms.kubernetes import claims
from platforms.kubernetes import job as manifest


class GpuJobArgs(TypedDict):
    """Arguments of GpuJob. CPU in cores, memory in GiB."""

    namespace: pulumi.Input[str]
    """Existing namespace for the job."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Image name; policies look up its facts by it."""
    command: Sequence[str]
    """Command, without a shell."""
    gpus: int
    """Whole GPUs; 0 for none, with no GPU visible."""
    cpu: float
    """CPU cores, requested and limit."""
    memory_gib: float
    """Memory, requested and limit."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm, part of the memory; PyTorch data loaders need it."""
    pool: NotRequired[str]
    """Pool to run on; default: any node with room."""
    pools: NotRequired[Sequence[str]]
    """Several pools instead of `pool`: the job runs on a node of one."""
    retries: NotRequired[int]
    """Retries of a failed pod; default 0."""
    deadline_s: NotRequired[int]
    """Seconds until the job is stopped; default: never."""
    queue: NotRequired[str]
    """LocalQueue of Kueue, if installed; the job waits for its turn, and the update does not wait."""
    env: NotRequired[Mapping[str, str]]
    """Environment variables; those that select GPUs are refused."""
    claimed_products: NotRequired[Sequence[str]]
    """GPU products as in `nvidia.com/gpu.product`: NVIDIA-L4. Set, the job requests GPUs by a claim (DRA) for
    NVIDIA's driver, which replaces the device plugin in the cluster; default: by `nvidia.com/gpu`."""
    user: NotRequired[int]
    """User ID of the job, as in its image; default 1000."""


class GpuJob(pulumi.ComponentResource):
    """One Kubernetes Job. The update waits for its completion, unless a queue decides its start."""

    job_name: pulumi.Output[str]
    """Name of the Job; `kubectl logs job/NAME` reads its log."""

    def __init__(self, name: str, args: GpuJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        try:
            shape = manifest.parse_job(name, {key: value for key, value in args.items() if key != "namespace"})
        except SettingsError as error:
            raise pulumi.RunError(str(error)) from None
        super().__init__("gpu-commons:index:GpuJob", name, {**args}, opts)
        metadata: Any = {"name": name, "namespace": args["namespace"]}
        if shape.queue:
            metadata["labels"] = {"kueue.x-k8s.io/queue-name": shape.queue}
            metadata["annotations"] = {"pulumi.com/skipAwait": "true"}
        spec: Any = manifest.job_spec(name, shape)
        template: list[pulumi.Resource] = []
        if shape.is_claiming:
            claim: Any = claims.template_spec(shape.gpus, shape.claimed_products or ())
            template = [
                KubernetesObject(
                    "ResourceClaimTemplate",
                    f"{name}-claim",
                    {"metadata": {"name": claims.template_name(name), "namespace": args["namespace"]}, "spec": claim},
                    opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True),
                )
            ]
        job = KubernetesObject(
            "Job",
            f"{name}-job",
            {"metadata": metadata, "spec": spec},
            # Jobs cannot be changed in place: a new image or command replaces the Job under the same name.
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True, depends_on=template),
        )
        self.job_name = job.metadata["name"]
        self.register_outputs({"job_name": self.job_name})
