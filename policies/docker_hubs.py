"""Reads a DockerHub's user servers and kernels as pods of its host: they never pass through Pulumi. Pure.

The hub assigns GPUs at start; the engine ensures that each GPU belongs to one container.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from fleet.labels import GPU_RESOURCE, POOL
from fleet.unknown import UNKNOWN, Unknown
from policies.model import DockerContainer, Workload
from policies.shapes import is_list, text
from policies.wording import DOCKER
from workloads.hub import DEFAULT_START_TIMEOUT_S

DOCKER_HUB_TOKEN: Final = "gpu-commons:index:DockerHub"  # noqa: S105 - a resource type
_NOTHING_KNOWN: Final[Mapping[str, Any]] = {"containers": UNKNOWN, "tolerations": UNKNOWN}


def hosted_workloads(hub: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """Each profile's servers and kernels."""
    for name, profile in _each(inputs.get("profiles"), "profile"):
        yield _workload(f"{name} of hub {hub}", profile, inputs)
        if isinstance(profile, Mapping):
            for called, kernel in _each(profile.get("kernels"), "kernel"):
                yield _workload(f"{called} of {name} of hub {hub}", kernel, inputs)


def _each(listed: Any, kind: str) -> Iterator[tuple[str, Mapping[str, Any] | Unknown]]:
    if listed is UNKNOWN:
        yield f"{kind}s", UNKNOWN
    for index, each in enumerate(listed if is_list(listed) else ()):
        if each is UNKNOWN:
            yield f"{kind} {index}", UNKNOWN
        elif isinstance(each, Mapping):
            yield f"{kind} {text(each.get('name'), str(index))}", each


def _workload(name: str, spec: Mapping[str, Any] | Unknown, hub: Mapping[str, Any]) -> Workload:
    if isinstance(spec, Unknown):
        return Workload(name, _NOTHING_KNOWN)
    timeout, image_name = hub.get("start_timeout_s"), spec.get("image_name")
    return Workload(
        name,
        _pod(spec, hub.get("pool")),
        start_timeout_s=timeout if isinstance(timeout, int | float | Unknown) else DEFAULT_START_TIMEOUT_S,
        is_pre_pulled=True,  # the component pulls every image
        image_names=(image_name,) if isinstance(image_name, str) else (),
        container=DockerContainer(name, _inputs(spec)),
        words=_WORDS,
    )


def _pod(spec: Mapping[str, Any], pool: Any) -> dict[str, Any]:
    gpus, memory, cores = (spec.get(key) for key in ("gpus", "memory_gib", "cpu"))
    limits: dict[str, Any] = {
        "cpu": cores,
        "memory": memory if memory is UNKNOWN else f"{memory}Gi",
        **({GPU_RESOURCE: gpus if gpus is UNKNOWN else str(gpus)} if gpus else {}),
    }
    # The hub sets this in containers without a grant.
    hidden = [] if gpus else [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"}]
    return {
        "tolerations": [{"operator": "Exists"}],
        "nodeSelector": {POOL: pool},
        "containers": [{"image": spec.get("image"), "resources": {"limits": limits}, "env": hidden}],
    }


def _inputs(spec: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs judged by the container rules and always set by the hub, named as in docker.Container."""
    return {"memory": spec.get("memory_gib"), "shmSize": spec.get("shm_gib") or True}


_WORDS: Final = replace(
    DOCKER,
    request_a_gpu="request GPUs with gpus",
    only_request="Request GPUs with gpus.",
    fit="Choose another pool for the hub, or request no more than one host has.",
    write_amounts="Write memory_gib and cpu as numbers.",
    places={
        "containers[0]": "it",
        "containers[0].image": "image",
        "containers[0].resources": "gpus",
        f"containers[0].resources.limits.{GPU_RESOURCE}": "gpus",
        "containers[0].resources.limits.cpu": "cpu",
        "containers[0].resources.limits.memory": "memory_gib",
        f"nodeSelector.{POOL}": "pool",
    },
)
