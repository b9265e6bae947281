"""A job of Slurm, read as the pod that would ask for the same: the rules look at both alike. Pure.

Inputs are those of `SlurmJob`, the dynamic resource behind SlurmGpuJob. What has no counterpart in a pod is judged by
the rule P-BATCH.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from fleet.labels import GPU_RESOURCE
from fleet.unknown import UNKNOWN
from kube.pools import one_of, required
from policies.model import SlurmJob, Workload
from policies.shapes import is_list, text
from policies.vocabulary import SLURM

SLURM_JOB_TOKEN: Final = "pulumi-python:dynamic/gpu-commons:SlurmJob"  # noqa: S105 - a resource type


def of_slurm_job(name: str, inputs: Mapping[str, Any]) -> Workload:
    """The one workload of a job."""
    image_name = inputs.get("image_name")
    return Workload(
        f"Job {text(inputs.get('job')) or name}",
        _pod(inputs),
        image_names=(image_name,) if isinstance(image_name, str) else (),
        batch=SlurmJob(inputs),
        words=SLURM,
    )


def _pod(inputs: Mapping[str, Any]) -> dict[str, Any]:
    gpus, pools = inputs.get("gpus", 0), inputs.get("pools")
    placed: Any = None
    if pools is UNKNOWN:
        placed = UNKNOWN
    elif is_list(pools) and pools:
        placed = UNKNOWN if UNKNOWN in pools else required(one_of([text(each) for each in pools]))
    return {
        # Slurm has no taints: whoever asks for no GPU may be on a node with some.
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"image": inputs.get("image"), "resources": {"limits": {GPU_RESOURCE: gpus}}}],
        **({"affinity": placed} if placed is not None else {}),
    }
