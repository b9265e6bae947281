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
    """Namespace of the job; it must exist."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies find its facts by it."""
    command: Sequence[str]
    """What runs, without a shell."""
    gpus: int
    """Whole GPUs; 0 for none, and then none is visible."""
    cpu: float
    """CPU cores, requested and limit."""
    memory_gib: float
    """Memory, requested and limit."""
    shm_gib: NotRequired[float]
    """Shared memory at /dev/shm, taken from the memory; data loaders of PyTorch need it."""
    pool: NotRequired[str]
    """Pool it runs on; without one, any node that has room."""
    pools: NotRequired[Sequence[str]]
    """Several pools, in place of `pool`: it runs on a node of any of them."""
    retries: NotRequired[int]
    """How often a failed pod is retried; default 0."""
    deadline_s: NotRequired[int]
    """Seconds after which the job is stopped; default: never."""
    queue: NotRequired[str]
    """LocalQueue of Kueue where it is installed; the job then waits for its turn, and the update does not wait."""
    env: NotRequired[Mapping[str, str]]
    """Environment variables; those that choose GPUs are refused."""
    claimed_products: NotRequired[Sequence[str]]
    """Products of GPUs, as `nvidia.com/gpu.product` has them: NVIDIA-L4. With it, GPUs are requested by a claim (DRA)
    of NVIDIA's driver, which the cluster has in place of the device plugin; default: by `nvidia.com/gpu`."""
    user: NotRequired[int]
    """User id that it runs as, as its image has it; default 1000."""


class GpuJob(pulumi.ComponentResource):
    """One Kubernetes Job. The update waits until it has completed, unless a queue decides when it starts."""

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
            # A Job cannot be changed in place: a new image or command is a new job of the same name.
            opts=pulumi.ResourceOptions(parent=self, delete_before_replace=True, depends_on=template),
        )
        self.job_name = job.metadata["name"]
        self.register_outputs({"job_name": self.job_name})
