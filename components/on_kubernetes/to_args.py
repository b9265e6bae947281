"""Arguments of the Kubernetes components, from models. Without Pulumi, so that checks need no SDK."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from components.to_args import every_hub
from platforms.kubernetes.node_pool import DeclaredPool
from workloads.arguments import stated
from workloads.hub import ClusterHubKeys
from workloads.resolved import Choice, ResolvedHub, UsedImage
from workloads.workload import JobKeys

if TYPE_CHECKING:
    import pulumi

    from components.on_kubernetes.gpu_job_args import GpuJobArgs
    from components.on_kubernetes.gpu_node_pool import GpuNodePoolArgs
    from components.on_kubernetes.notebook_hub_args import NotebookHubArgs
    from components.on_kubernetes.nvidia_runtime import NvidiaRuntimeArgs


def gpu_node_pool(pool: DeclaredPool) -> GpuNodePoolArgs:
    """Arguments of a GpuNodePool."""
    gpus, others = pool.gpus, pool.others
    args: dict[str, Any] = {
        "pool": pool.name,
        "node_names": pool.node_names,
        "labels": pool.labels or None,
        "taints": [{"key": each.key, "value": each.value, "effect": each.effect} for each in pool.taints] or None,
    }
    if gpus:
        args |= {
            "gpu": gpus.model.name,
            "gpus_per_node": gpus.count,
            "driver_version": str(gpus.driver),
            "container_toolkit_version": gpus.container_toolkit or None,
            "node_drivers": {name: str(its.driver) for name, its in others.items() if its.driver != gpus.driver}
            or None,
            "node_container_toolkits": {
                name: its.container_toolkit
                for name, its in others.items()
                if its.container_toolkit and its.container_toolkit != gpus.container_toolkit
            }
            or None,
        }
    return cast("GpuNodePoolArgs", stated(args))


def nvidia_runtime(daemons: Mapping[str, Any]) -> NvidiaRuntimeArgs:
    """Arguments of the NvidiaRuntime. `daemons`: images and pools."""
    return cast("NvidiaRuntimeArgs", stated(daemons))


def notebook_hub(hub: ResolvedHub, refs: Mapping[str, pulumi.Input[str]], core_pool: str | None) -> NotebookHubArgs:
    """Arguments of a NotebookHub. `refs`: repository@digest by image name."""
    args = {
        **hub.keys.model_dump(include={*ClusterHubKeys.model_fields, "expose"} - {"storage"}, exclude_none=True),
        **hub.keys.model_dump(include={"storage"}, exclude_unset=True),  # an export has no size, not even by default
        **every_hub(hub, refs),
        "profiles": [_profile(each, refs) for each in hub.choices],
        "images_are_pre_pulled": hub.is_pre_pulled or None,
        "core_pool": core_pool,
    }
    return cast("NotebookHubArgs", stated(args))


def _profile(choice: Choice, refs: Mapping[str, Any]) -> dict[str, Any]:
    values = choice.keys.model_dump(exclude_none=True, exclude={"image", "kernels"})
    asked = {key: value for key, value in choice.image.runtime.items() if key == "shm_gib"}
    return {**asked, **values, **choice.shown, "image": refs[choice.image.name], "image_name": choice.image.name}


def gpu_job(
    job: JobKeys,
    image: UsedImage,
    ref: pulumi.Input[str],
    namespace: pulumi.Input[str],
    claimed_products: Sequence[str],
) -> GpuJobArgs:
    """Arguments of a GpuJob."""
    args = {
        "namespace": namespace,
        "image": ref,
        "image_name": image.name,
        "shm_gib": image.runtime.get("shm_gib"),
        "user": image.user,
        "claimed_products": claimed_products or None,
        **job.model_dump(include={*JobKeys.model_fields}, exclude_none=True),
    }
    return cast("GpuJobArgs", stated(args))
