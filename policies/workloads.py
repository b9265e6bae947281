"""Which pods a resource makes, and their containers: every Kubernetes kind that holds a pod template, and the profiles
of a NotebookHub.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from components.labels import GPU_RESOURCE, GPU_TAINT, IMAGE, NVIDIA_PREFIX, POOL
from components.placement import UNKNOWN, Unknown
from policies.findings import Workload

# Token suffix → path from the object to its pod spec.
POD_PATHS: Mapping[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "ReplicaSet": ("spec", "template", "spec"),
    "ReplicationController": ("spec", "template", "spec"),
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
HUB_TOKEN = "gpu-commons:index:NotebookHub"  # noqa: S105 - a resource type


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod, or all of one kind where the list is not known yet. `spec` is Kubernetes JSON."""

    path: str  # containers[0]
    spec: Mapping[str, Any] | Unknown


def containers(pod: Mapping[str, Any]) -> Iterator[Container]:
    """Every container of a pod, the init containers first. What has another shape is the API server's to refuse."""
    for kind in CONTAINERS:
        found = pod.get(kind)
        if found is UNKNOWN:
            yield Container(kind, UNKNOWN)
        elif isinstance(found, Sequence) and not isinstance(found, str):
            for index, each in enumerate(found):
                if each is UNKNOWN or isinstance(each, Mapping):
                    yield Container(f"{kind}[{index}]", each)


def asks_for_gpus(container: Mapping[str, Any] | Unknown) -> bool | None:
    """None where that is not known yet."""
    if container is UNKNOWN:
        return None
    resources = container.get("resources")
    if resources is UNKNOWN:
        return None
    amounts = {
        name: amount
        for kind in ("requests", "limits")
        for name, amount in (_mapping(resources, kind) or {}).items()
        if name.startswith(NVIDIA_PREFIX)
    }
    if any(amount is UNKNOWN for amount in amounts.values()) or _mapping(resources, "limits") is None:
        return None
    return any(str(amount) not in {"0", ""} for amount in amounts.values())


def _mapping(where: Any, key: str) -> Mapping[str, Any] | None:
    """None where it is not known yet."""
    found = where.get(key) if isinstance(where, Mapping) else None
    if found is UNKNOWN:
        return None
    return found if isinstance(found, Mapping) else {}


def holds_pods(token: str) -> bool:
    """True for resources that the rules look at; most resources are none of their business."""
    return token == HUB_TOKEN or (token.startswith("kubernetes:") and _kind(token) in POD_PATHS)


def _kind(token: str) -> str:
    return token.rpartition(":")[2].removesuffix("Patch")


def workloads(token: str, name: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """Workloads of one resource: its type token, its logical name, its inputs as plain values."""
    if token == HUB_TOKEN:
        yield from _profiles(name, inputs)
        return
    kind = _kind(token)
    if holds_pods(token):
        pod = _at(inputs, POD_PATHS[kind])
        label = f"{kind} {_object_name(name, inputs)}"
        # A template that is not known yet hides everything that decides: rules then say what they cannot prove.
        shape = pod if isinstance(pod, Mapping) else {"containers": UNKNOWN, "tolerations": UNKNOWN}
        names = _at(inputs, (*POD_PATHS[kind][:-1], "metadata", "annotations", IMAGE))
        yield Workload(
            label,
            shape,
            is_daemon=kind == "DaemonSet",
            image_names=tuple(names.split(",")) if isinstance(names, str) else (),
        )


def _at(inputs: Any, path: Sequence[str]) -> Any:
    """The value at a path of keys; an empty mapping where there is none."""
    for step in path:
        inputs = inputs.get(step, {}) if isinstance(inputs, Mapping) else inputs
    return inputs


def _object_name(logical: str, inputs: Mapping[str, Any]) -> str:
    metadata = inputs.get("metadata")
    parts = [metadata.get("namespace"), metadata.get("name")] if isinstance(metadata, Mapping) else []
    known = [part for part in parts if isinstance(part, str) and part]
    return "/".join(known) or logical


def _profiles(hub: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """The pods that KubeSpawner makes, from the hub's own arguments: they never pass through the engine."""
    profiles = inputs.get("profiles")
    if not isinstance(profiles, Sequence) or isinstance(profiles, str):
        return
    for index, profile in enumerate(profiles):
        if not isinstance(profile, Mapping):
            continue
        label = f"profile {profile.get('name', index)} of hub {hub}"
        timeout = inputs.get("start_timeout_s")
        yield Workload(
            label,
            _profile_pod(profile, inputs),
            start_timeout_s=float(timeout) if isinstance(timeout, int | float) else None,
            is_pre_pulled=inputs.get("images_are_pre_pulled") is True,
            image_names=(name,) if isinstance(name := profile.get("image_name"), str) else (),
        )


def _profile_pod(profile: Mapping[str, Any], hub: Mapping[str, Any]) -> dict[str, Any]:
    gpus = profile.get("gpus") or 0
    limits: dict[str, Any] = {}
    if gpus is UNKNOWN or gpus:
        limits[GPU_RESOURCE] = gpus if gpus is UNKNOWN else str(int(gpus))
    requests: dict[str, Any] = dict(limits)
    for resource, key, default, unit in (
        ("cpu", "cpu_guarantee", 0.1, ""),
        ("memory", "memory_guarantee_gib", 1, "Gi"),
    ):
        amount = profile.get(key, default)
        requests[resource] = amount if amount is UNKNOWN else f"{amount}{unit}"
    selector = dict(profile.get("node_selector") or {})
    pool = profile.get("pool") or hub.get("core_pool")
    if pool:
        selector[POOL] = pool
    tolerations = profile.get("tolerations") or [{"key": GPU_TAINT.key, "operator": "Exists"}]
    return {
        "nodeSelector": selector,
        "tolerations": tolerations,
        "containers": [{"image": profile.get("image"), "resources": {"limits": limits, "requests": requests}}],
    }
