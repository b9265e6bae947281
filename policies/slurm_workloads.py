"""Reads workloads of a site with Slurm: jobs, and the servers of a hub there. Pure.

Inputs are those of `SlurmJob` and `HubProcess`, the dynamic resources behind SlurmGpuJob and SlurmHub. The rule P-BATCH
judges a job's text.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fleet.labels import GPU_RESOURCE
from fleet.unknown import UNKNOWN
from policies.hub_profiles import workloads_of
from policies.model import Container, Image, Placement, Workload
from policies.shapes import is_list, text
from policies.vocabulary import SLURM

SLURM_JOB_TOKEN: Final = "pulumi-python:dynamic/gpu-commons:SlurmJob"  # noqa: S105 - a resource type
SLURM_HUB_TOKEN: Final = "pulumi-python:dynamic/gpu-commons:HubProcess"  # noqa: S105 - a resource type


def of_slurm_hub(name: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """A hub's servers by profile."""
    for called, profile in workloads_of(f"hub {text(inputs.get('hub')) or name}", inputs.get("profiles")):
        yield profile if isinstance(profile, Workload) else _workload(called, profile)


def of_slurm_job(name: str, inputs: Mapping[str, Any]) -> Workload:
    """A job's single workload."""
    return _workload(f"Job {text(inputs.get('job')) or name}", inputs)


def _workload(called: str, inputs: Mapping[str, Any]) -> Workload:
    pools, limits = inputs.get("pools"), {GPU_RESOURCE: inputs.get("gpus", 0)}
    is_open = pools is UNKNOWN or (is_list(pools) and UNKNOWN in pools)
    placement = Placement(
        tuple(map(text, pools)) if is_list(pools) and pools and not is_open else None,
        limits,
        places={GPU_RESOURCE: "gpus"},
        unknown=("pools",) if is_open else (),
        other_pool="the job does not name this pool",
    )
    image = Image("image", inputs.get("image"), text(inputs.get("image_name")))
    return Workload(
        called,
        words=SLURM,
        containers=(Container("the job", image, limits=limits, amounts_place="gpus"),),
        placement=placement,
        landing_key=repr(placement),
        job_inputs=inputs,
    )
