"""Reads Slurm jobs and hub servers there as the pods that would request the same. Pure.

Rules treat both alike. Inputs are those of `SlurmJob` and `HubProcess`, the dynamic resources behind SlurmGpuJob
and SlurmHub. The rule P-BATCH judges everything without a counterpart in a pod.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fleet.labels import GPU_RESOURCE
from fleet.unknown import UNKNOWN
from platforms.kubernetes.pools import one_of, required
from policies.model import SlurmJob, Workload
from policies.shapes import is_list, text
from policies.wording import SLURM

SLURM_JOB_TOKEN: Final = "pulumi-python:dynamic/gpu-commons:SlurmJob"  # noqa: S105 - a resource type
SLURM_HUB_TOKEN: Final = "pulumi-python:dynamic/gpu-commons:HubProcess"  # noqa: S105 - a resource type


def of_slurm_hub(name: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """A hub's servers by profile."""
    hub, profiles = text(inputs.get("hub")) or name, inputs.get("profiles")
    if profiles is UNKNOWN:
        yield Workload(f"profiles of hub {hub}", {"containers": UNKNOWN, "tolerations": UNKNOWN})
    for index, each in enumerate(profiles if is_list(profiles) else ()):
        if each is UNKNOWN:
            yield Workload(f"profile {index} of hub {hub}", {"containers": UNKNOWN, "tolerations": UNKNOWN})
        elif isinstance(each, Mapping):
            yield _workload(f"profile {text(each.get('name'), str(index))} of hub {hub}", each)


def of_slurm_job(name: str, inputs: Mapping[str, Any]) -> Workload:
    """A job's single workload."""
    return _workload(f"Job {text(inputs.get('job')) or name}", inputs)


def _workload(called: str, inputs: Mapping[str, Any]) -> Workload:
    image_name = inputs.get("image_name")
    return Workload(
        called,
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
        # Slurm has no taints: a job without GPUs may run on a GPU node.
        "tolerations": [{"operator": "Exists"}],
        "containers": [{"image": inputs.get("image"), "resources": {"limits": {GPU_RESOURCE: gpus}}}],
        **({"affinity": placed} if placed is not None else {}),
    }
