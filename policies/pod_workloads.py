"""Extracts a resource's pods and their containers: every Kubernetes kind with a pod template, custom resources
with pod templates, hub profiles, Docker containers, and Slurm jobs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from errors.problems import listing
from fleet.labels import GPU_RESOURCE, GPU_TAINT, IMAGE, NVIDIA_PREFIX, POOL
from fleet.quantities import quantity
from fleet.unknown import UNKNOWN, Unknown, mapping_at
from platforms.docker.container import CONTAINER_TOKEN
from platforms.kubernetes.pools import one_of, required
from platforms.kubernetes.runtime import RUNTIME_CLASS
from policies.custom_resources import Doubt, Place, filled_in_later, is_custom, out_of_sight, places
from policies.docker_containers import OUT_OF_SIGHT, of_container
from policies.docker_hubs import DOCKER_HUB_TOKEN, hosted_workloads
from policies.kinds import Kind, kind_of, objects
from policies.model import Daemon, Workload
from policies.shapes import at, is_list, object_name, some, text
from policies.slurm_jobs import SLURM_HUB_TOKEN, SLURM_JOB_TOKEN, of_slurm_hub, of_slurm_job
from workloads.hub import DEFAULT_CPU_GUARANTEE, DEFAULT_MEMORY_GUARANTEE_GIB, DEFAULT_START_TIMEOUT_S

# API groups of these kinds. A Job of another group, such as Volcano's, has another shape.
GROUPS = frozenset({"core", "apps", "extensions", "batch"})
# Kind → path from the object to its pod spec.
POD_PATHS: Mapping[str, tuple[str, ...]] = {
    "Pod": ("spec",),
    "Deployment": ("spec", "template", "spec"),
    "StatefulSet": ("spec", "template", "spec"),
    "DaemonSet": ("spec", "template", "spec"),
    "ReplicaSet": ("spec", "template", "spec"),
    "ReplicationController": ("spec", "template", "spec"),
    "PodTemplate": ("template", "spec"),
    "Job": ("spec", "template", "spec"),
    "CronJob": ("spec", "jobTemplate", "spec", "template", "spec"),
}
CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
ANY_LIST = Kind("core", "", is_list=True)  # kubernetes:v1:List
NOTHING_KNOWN: Mapping[str, Any] = {"containers": UNKNOWN, "tolerations": UNKNOWN}  # for a hub's pod
# Fields that determine a pod's nodes and GPUs. A patch leaves unnamed fields to others.
DECIDING = ("tolerations", "nodeSelector", "affinity", "runtimeClassName", "containers")
_CHOSEN: Final = "is chosen by the controller, in the cluster"
HUB_TOKEN = "gpu-commons:index:NotebookHub"  # noqa: S105 - a resource type


@dataclass(frozen=True, slots=True)
class Container:
    """One container of a pod, or all of one kind if the list is not known yet. `spec` is Kubernetes JSON."""

    path: str  # containers[0]
    spec: Mapping[str, Any] | Unknown


def containers(pod: Mapping[str, Any]) -> Iterator[Container]:
    """A pod's containers, init containers first. The API server rejects lists of another shape."""
    for kind in CONTAINERS:
        found = pod.get(kind)
        if found is UNKNOWN:
            yield Container(kind, UNKNOWN)
        elif is_list(found):
            for index, each in enumerate(found):
                if each is UNKNOWN or isinstance(each, Mapping):
                    yield Container(f"{kind}[{index}]", each)


def asks_for_gpus(container: Mapping[str, Any] | Unknown) -> bool | None:
    """None if not known yet."""
    resources = at(container, "resources")
    if UNKNOWN in (resources, at(resources, "limits")):
        return None
    requested = {**mapping_at(resources, "requests"), **mapping_at(resources, "limits")}
    amounts = [amount for name, amount in requested.items() if name.startswith(NVIDIA_PREFIX)]
    if UNKNOWN in amounts:
        return None
    if not all(map(_is_zero, amounts)):
        return True
    # A claim's device comes from its class and may be a GPU.
    return None if at(resources, "claims") else False


def _is_zero(amount: Any) -> bool:
    """True for 0, "0.0" and "0m", and a missing amount; P-HOST refuses invalid quantities."""
    try:
        return amount in (None, "") or quantity(amount) == 0
    except ValueError:
        return False


def asks_somewhere(pod: Mapping[str, Any]) -> bool | None:
    """Whether any container requests GPUs; None if not known yet."""
    return some(asks_for_gpus(each.spec) for each in containers(pod))


def holds_pods(token: str) -> bool:
    """True for resources the rules judge; most are irrelevant."""
    kind = kind_of(token)
    if token in {HUB_TOKEN, DOCKER_HUB_TOKEN, CONTAINER_TOKEN, SLURM_JOB_TOKEN, SLURM_HUB_TOKEN, *OUT_OF_SIGHT}:
        return True
    return kind is not None and (_is_known(kind) or is_custom(token) or kind == ANY_LIST)


def _is_known(kind: Kind) -> bool:
    return kind.group in GROUPS and kind.name in POD_PATHS


def _patched(pod: Mapping[str, Any]) -> dict[str, Any]:
    """A patch has only changed keys; the pod's other keys are unknown."""
    found = {**dict.fromkeys(DECIDING, UNKNOWN), **pod}
    for kind in CONTAINERS:
        if is_list(listed := found.get(kind)):
            found[kind] = [_patched_container(each) if isinstance(each, Mapping) else each for each in listed]
    return found


def _patched_container(container: Mapping[str, Any]) -> dict[str, Any]:
    found = {"image": UNKNOWN, "resources": UNKNOWN, **container}
    resources = found["resources"]
    if isinstance(resources, Mapping) and resources.get("limits") is not UNKNOWN:
        found["resources"] = {**resources, "limits": {GPU_RESOURCE: UNKNOWN, **mapping_at(resources, "limits")}}
    return found


def workloads(token: str, name: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """A resource's workloads, by its type token, logical name and plain inputs."""
    if token == HUB_TOKEN:
        yield from _profiles(name, inputs)
    elif token == DOCKER_HUB_TOKEN:
        yield from hosted_workloads(name, inputs)
    elif token == CONTAINER_TOKEN:
        yield of_container(name, inputs)
    elif token == SLURM_JOB_TOKEN:
        yield of_slurm_job(name, inputs)
    elif token == SLURM_HUB_TOKEN:
        yield from of_slurm_hub(name, inputs)
    elif why := OUT_OF_SIGHT.get(token):
        yield Workload(f"{token.rpartition(':')[2]} {name}", {}, unread=f"{why}, and none of that was checked")
    elif (kind := kind_of(token)) is not None:
        yield from _of_kubernetes(kind, token, name, inputs)


def _of_kubernetes(kind: Kind, token: str, name: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    called = token.rpartition(":")[2].removesuffix("Patch")
    label = f"{called} {object_name(name, inputs)}"
    if kind == ANY_LIST:
        yield Workload(
            label,
            {},
            unread="it lists objects of any kind, but only objects that are separate resources are checked",
        )
    elif _is_known(kind) and kind.is_list:
        for index, each in objects(kind, inputs):
            if isinstance(each, Mapping):
                yield from _of_kind(replace(kind, is_list=False), f"{name}[{index}]", each)
            else:
                yield Workload(f"{called} {name}", {}, unread="it is not known yet which objects it lists")
    elif _is_known(kind):
        yield from _of_kind(kind, name, inputs)
    elif is_custom(token):
        yield from _of_custom_resource(token, label, inputs)


def _of_kind(kind: Kind, name: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """One built-in Kubernetes object with pods."""
    *outer, last = POD_PATHS[kind.name]
    owner = _at(inputs, outer)
    pod = owner.get(last, {}) if isinstance(owner, Mapping) else owner
    metadata = at(owner, "metadata")
    found = _workload(f"{kind.name} {object_name(name, inputs)}", pod, metadata, is_patch=kind.is_patch)
    yield replace(found, daemon=_daemon(inputs) if kind.name == "DaemonSet" else None)


def _of_custom_resource(token: str, label: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """Its pod templates by path, and one extra workload for everything unreadable."""
    if why := out_of_sight(token):
        yield Workload(
            label, {}, unread=f"what it creates is deployed outside Pulumi, so none of it was checked: {why}"
        )
        return
    others: list[Place] = []
    for place in places(token, inputs):
        if isinstance(place.template, Mapping):
            spec, metadata = place.template["spec"], place.template.get("metadata")
            pod = _with_images(filled_in_later(spec))
            found = _workload(f"{place.path} of {label}", pod, metadata, is_patch=token.endswith("Patch"))
            yield replace(found, left_out=dict.fromkeys(_without_image(spec), _CHOSEN))
        elif place.doubt is Doubt.CHANGES:
            yield Workload(label, {}, unread=f"{place.path} {place.why}")
        else:
            others.append(place)
    if others:
        what = "only the pod templates of such a resource are checked"
        surely_first = sorted(others, key=lambda place: place.doubt is Doubt.MAKES)
        reasons = [f"{place.path} {place.why}" for place in surely_first]
        yield Workload(
            label, {}, unread=f"{listing(reasons, most=3)}, so it is not known which pods it creates: {what}"
        )


def _workload(label: str, pod: Any, metadata: Any, *, is_patch: bool) -> Workload:
    """From one pod template: its spec and metadata, if well-formed."""
    # An unknown template hides all deciding fields: rules then report what they cannot prove.
    shape = pod if isinstance(pod, Mapping) else {**NOTHING_KNOWN, "volumes": UNKNOWN}
    if is_patch:
        shape = _patched(shape)
    annotations = at(metadata, "annotations")
    names = at(annotations, IMAGE)
    return Workload(
        label,
        shape,
        annotations=annotations if isinstance(annotations, Mapping | Unknown) else {},
        image_names=tuple(names.split(",")) if isinstance(names, str) else (),
    )


def _daemon(inputs: Mapping[str, Any]) -> Daemon:
    """A DaemonSet's namespace and name; without a name, each replacement gets a new one."""
    namespace, name = at(inputs, "metadata", "namespace") or "default", at(inputs, "metadata", "name")
    return Daemon(*(each if each is UNKNOWN else text(each) for each in (namespace, name)))


def _without_image(pod: Mapping[str, Any]) -> list[str]:
    """Paths of images that a template leaves to its controller."""
    return [f"{each.path}.image" for each in containers(pod) if each.spec is not UNKNOWN and "image" not in each.spec]


def _with_images(pod: Mapping[str, Any]) -> Mapping[str, Any]:
    """Some controllers complete their templates' containers, so an absent image is not missing."""
    return {
        **pod,
        **{
            kind: [{"image": UNKNOWN, **each} if isinstance(each, Mapping) else each for each in listed]
            for kind in CONTAINERS
            if is_list(listed := pod.get(kind))
        },
    }


def _at(inputs: Any, path: Sequence[str]) -> Any:
    """The value at a path of keys, or an empty mapping."""
    for step in path:
        inputs = inputs.get(step, {}) if isinstance(inputs, Mapping) else inputs
    return inputs


def _profiles(hub: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """KubeSpawner's pods from the hub's own arguments: they never pass through the engine."""
    profiles = inputs.get("profiles")
    if profiles is UNKNOWN:
        yield Workload(f"profiles of hub {hub}", NOTHING_KNOWN)
    if not is_list(profiles):
        return
    timeout = inputs.get("start_timeout_s")
    for index, profile in enumerate(profiles):
        if profile is UNKNOWN:
            yield Workload(f"profile {index} of hub {hub}", NOTHING_KNOWN)
        if not isinstance(profile, Mapping):
            continue
        name, image_name = profile.get("name"), profile.get("image_name")
        yield Workload(
            f"profile {text(name, str(index))} of hub {hub}",
            _profile_pod(profile, inputs),
            start_timeout_s=timeout if isinstance(timeout, int | float | Unknown) else DEFAULT_START_TIMEOUT_S,
            is_pre_pulled=inputs.get("images_are_pre_pulled") is True,
            image_names=(image_name,) if isinstance(image_name, str) else (),
        )


def _profile_pod(profile: Mapping[str, Any], hub: Mapping[str, Any]) -> dict[str, Any]:
    gpus = profile.get("gpus") or 0
    limits = {GPU_RESOURCE: gpus if gpus is UNKNOWN else str(gpus)} if gpus else {}
    requests: dict[str, Any] = dict(limits)
    for resource, key, default, unit in (
        ("cpu", "cpu_guarantee", DEFAULT_CPU_GUARANTEE, ""),
        ("memory", "memory_guarantee_gib", DEFAULT_MEMORY_GUARANTEE_GIB, "Gi"),
    ):
        amount = default if profile.get(key) is None else profile[key]
        requests[resource] = amount if amount is UNKNOWN else f"{amount}{unit}"
    further = profile.get("node_selector") or {}
    # Its labels are unknown but may exist: the pool still counts.
    selector = dict(further) if isinstance(further, Mapping) else {"(further labels)": UNKNOWN}
    pools = profile.get("pools")
    if not pools and (pool := profile.get("pool") or hub.get("core_pool")):
        selector[POOL] = pool
    container = {"image": profile.get("image"), "resources": {"limits": limits, "requests": requests}}
    return {
        "nodeSelector": selector,
        **({"affinity": required(one_of(pools)) if is_list(pools) else UNKNOWN} if pools else {}),
        "tolerations": profile.get("tolerations") or [{"key": GPU_TAINT.key, "operator": "Exists"}],
        "containers": [container],
        **({"runtimeClassName": hub.get("runtime_class") or RUNTIME_CLASS} if gpus else {}),
    }
