"""GpuJob: one batch job with an explicit GPU request."""

from typing import Any

import pulumi

from components.argument_errors import explained
from components.on_kubernetes.gpu_job_args import GpuJobArgs
from components.on_kubernetes.kubernetes_object import KubernetesObject
from platforms.kubernetes import claims
from platforms.kubernetes import job as manifest


class GpuJob(pulumi.ComponentResource):
    """One Kubernetes Job. The update waits for its completion, unless a queue decides its start."""

    job_name: pulumi.Output[str]
    """Name of the Job; `kubectl logs job/NAME` reads its log."""

    def __init__(self, name: str, args: GpuJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        with explained():
            shape = manifest.parse_job(name, {key: value for key, value in args.items() if key != "namespace"})
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
