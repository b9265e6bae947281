"""P-GPU: GPUs are asked for, never taken."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from components.labels import GPU_RESOURCE
from components.placement import UNKNOWN
from policies.finding import Finding, Level
from policies.findings import Rule, Site, Workload
from policies.workloads import containers

VISIBILITY_VARIABLES = ("NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
HIDING = {"", "void", "none"}  # values that show no GPU
NVIDIA_DEVICES = "/dev/nvidia"


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Visibility variables, device paths, and GPU requests that differ from limits."""
    known = [(each.path, each.spec) for each in containers(workload.pod) if isinstance(each.spec, Mapping)]
    is_runtime = workload.is_daemon and any(c.get("image") in site.runtime_images for _, c in known)
    for path, container in known:
        yield from _amounts(path, container)
        if not is_runtime:
            yield from _variables(path, container)
    if not is_runtime:
        yield from _device_paths(workload.pod)


def _amounts(path: str, container: Mapping[str, Any]) -> Iterator[Finding]:
    resources = container.get("resources")
    if not isinstance(resources, Mapping):
        return
    limit, request = (_amount(resources.get(kind)) for kind in ("limits", "requests"))
    if UNKNOWN in (limit, request):
        yield Finding(f"{path}.resources: the GPU request is not known yet", Level.UNPROVED)
    elif request is not None and limit is None:
        yield Finding(f"{path}.resources.requests has {GPU_RESOURCE} without a limit: Kubernetes refuses such a pod")
    elif request is not None and str(request) != str(limit):
        yield Finding(f"{path}.resources: {GPU_RESOURCE} is {request} in requests and {limit} in limits: must be equal")


def _amount(amounts: Any) -> Any:
    if amounts is UNKNOWN:
        return UNKNOWN
    return amounts.get(GPU_RESOURCE) if isinstance(amounts, Mapping) else None


def _variables(path: str, container: Mapping[str, Any]) -> Iterator[Finding]:
    env = container.get("env")
    if env is UNKNOWN:
        yield Finding(f"{path}.env is not known yet: it may set a visibility variable", Level.UNPROVED)
        return
    for entry in env if isinstance(env, Sequence) and not isinstance(env, str) else ():
        if entry is UNKNOWN:
            yield Finding(f"{path}.env has an entry that is not known yet", Level.UNPROVED)
        elif isinstance(entry, Mapping) and entry.get("name") in VISIBILITY_VARIABLES:
            yield from _variable(path, entry)


def _variable(path: str, entry: Mapping[str, Any]) -> Iterator[Finding]:
    name, value = entry["name"], entry.get("value")
    if value is UNKNOWN:
        yield Finding(f"{path}.env.{name} is not known yet", Level.UNPROVED)
    elif entry.get("valueFrom") or str(value or "").strip().lower() not in HIDING:
        # The value may come from a Secret: it is not repeated.
        yield Finding(f"{path}.env.{name} chooses GPUs past the scheduler; the device plugin sets it")


def _device_paths(pod: Mapping[str, Any]) -> Iterator[Finding]:
    for index, volume in enumerate(pod.get("volumes") or () if pod.get("volumes") is not UNKNOWN else ()):
        host = volume.get("hostPath") if isinstance(volume, Mapping) else None
        path = host.get("path") if isinstance(host, Mapping) else None
        if isinstance(path, str) and (path.rstrip("/") in {"", "/dev"} or path.startswith(NVIDIA_DEVICES)):
            yield Finding(f"volumes[{index}].hostPath {path} reaches every GPU of the node")


RULE = Rule(
    id="P-GPU",
    says="a GPU is asked for by nvidia.com/gpu, equal in requests and limits, and nothing escapes that",
    remedy="Set resources.limits nvidia.com/gpu and remove the variable or the volume.",
    check=check,
)
