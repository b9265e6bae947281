"""Arguments of the Slurm components, from models. Without Pulumi, so that checks need no SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from components.to_args import every_hub
from platforms.slurm.job_model import SlurmKeys
from platforms.slurm.partition_model import PartitionKeys
from platforms.slurm.site_facts import DeclaredPool
from platforms.slurm.site_model import SlurmAccess
from workloads.arguments import stated
from workloads.hub import HubKeys
from workloads.resolved import Choice, ResolvedHub
from workloads.workload import JobKeys

if TYPE_CHECKING:
    import pulumi

    from components.on_slurm.slurm_gpu_job_args import SlurmGpuJobArgs
    from components.on_slurm.slurm_hub_args import SlurmHubArgs
    from components.on_slurm.slurm_site_args import SifImageArgs, SlurmSiteArgs

    Refs = Mapping[str, pulumi.Input[str]]


@dataclass(frozen=True, slots=True)
class Place:
    """Where the jobs and hubs of a stack run, and the images there."""

    site: SlurmAccess
    pools: Mapping[str, PartitionKeys]
    refs: Refs  # repository@digest by image name
    sifs: Refs  # image files by image name


def slurm_site(site: SlurmAccess, pools: Sequence[DeclaredPool]) -> SlurmSiteArgs:
    """Arguments of the SlurmSite."""
    declared = [
        {"pool": each.name, **_keys(each.keys), "nodes": each.nodes, "gpus_per_node": each.gpus_per_node}
        for each in pools
    ]
    return cast("SlurmSiteArgs", {"site": _site(site), "pools": declared})


def sif_image(site: SlurmAccess, image: str, ref: pulumi.Input[str]) -> SifImageArgs:
    """Arguments of a SifImage."""
    return {"image": ref, "image_name": image, "site": _site(site)}


def slurm_gpu_job(job: JobKeys, slurm: SlurmKeys | None, image: str, place: Place) -> SlurmGpuJobArgs:
    """Arguments of a SlurmGpuJob."""
    keys = JobKeys.model_fields.keys() - {"pool", "pools", "shm_gib"}
    args = {
        **job.model_dump(mode="json", exclude_none=True, include={*keys}),
        "site": _site(place.site),
        **_on_partitions(image, job.named_pools, place),
        "slurm": slurm.model_dump(mode="json", exclude_none=True) if slurm else None,
    }
    return cast("SlurmGpuJobArgs", stated(args))


def slurm_hub(hub: ResolvedHub, place: Place) -> SlurmHubArgs:
    """Arguments of a SlurmHub."""
    args = {
        **hub.keys.model_dump(include={*HubKeys.model_fields, "expose"}, exclude_none=True),
        **every_hub(hub, place.refs),
        "site": _site(place.site),
        "hub_sif": place.sifs[hub.images["hub"]],
        "proxy_sif": place.sifs[hub.images["proxy"]],
        "profiles": [_profile(each, place) for each in hub.choices],
    }
    return cast("SlurmHubArgs", stated(args))


def _profile(choice: Choice, place: Place) -> dict[str, Any]:
    values = choice.keys.model_dump(exclude_none=True, exclude={"image", "kernels", "pool", "pools", "shm_gib"})
    return {**values, **choice.shown, **_on_partitions(choice.image.name, choice.pools, place)}


def _on_partitions(image: str, pools: Sequence[str], place: Place) -> dict[str, Any]:
    return {
        "image": place.refs[image],
        "image_name": image,
        "sif": place.sifs[image],
        "partitions": [{"pool": name, **_keys(place.pools[name])} for name in pools],
    }


def _keys(pool: PartitionKeys) -> dict[str, Any]:
    return pool.model_dump(mode="json", include={*PartitionKeys.model_fields}, exclude_none=True)


def _site(site: SlurmAccess) -> dict[str, Any]:
    return stated(site.model_dump(mode="json", exclude_none=True))
