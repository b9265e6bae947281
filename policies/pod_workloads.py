"""Reads a resource's workloads: every Kubernetes kind with a pod template, custom resources with pod templates, and
profiles of a hub as the pods that KubeSpawner makes. Docker and Slurm have modules of their own.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from errors.problems import listing
from fleet.labels import GPU_RESOURCE, GPU_TAINT, IMAGE, OWN_PREFIX, POOL
from fleet.scheduling import shape
from fleet.unknown import UNKNOWN, Unknown, mapping_at
from platforms.docker.container import CONTAINER_TOKEN
from platforms.kubernetes.pools import one_of, required
from platforms.kubernetes.runtime import RUNTIME_CLASS
from policies.custom_resources import Doubt, Place, filled_in_later, is_custom, out_of_sight, places
from policies.docker_workloads import DOCKER_HUB_TOKEN, OUT_OF_SIGHT, of_container, of_docker_hub
from policies.host_paths import of_volumes
from policies.hub_profiles import NOTHING_KNOWN, start_timeout_s, workloads_of
from policies.kinds import Kind, kind_of, objects
from policies.model import Container, Daemon, Image, Mount, Variable, Workload
from policies.shapes import at, capabilities, is_list, items, object_name, text
from policies.slurm_workloads import SLURM_HUB_TOKEN, SLURM_JOB_TOKEN, of_slurm_hub, of_slurm_job
from workloads.hub import DEFAULT_CPU_GUARANTEE, DEFAULT_MEMORY_GUARANTEE_GIB

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
# Fields that determine a pod's nodes and GPUs. A patch leaves unnamed fields to others.
DECIDING = ("tolerations", "nodeSelector", "affinity", "runtimeClassName", "containers")
_CHOSEN: Final = "is chosen by the controller, in the cluster"
# Sidecars that an injector adds: sidecar.istio.io/proxyImage, dapr.io/sidecar-image.
_INJECTED: Final = re.compile(r"/(?:[\w.-]*-)?image$|/\w*Image$")
HUB_TOKEN = "gpu-commons:index:NotebookHub"  # noqa: S105 - a resource type


def of_pod(label: str, pod: Mapping[str, Any], *, image_names: Sequence[str] = (), chosen: str = "") -> Workload:
    """A workload from a pod spec. `image_names` are the stack's names of its images, in container order.

    `chosen` is said of an image that the template leaves to its controller.
    """
    volumes = pod.get("volumes")
    return Workload(
        label,
        pod,
        containers=tuple(_containers(pod, image_names, chosen)),
        host_paths=tuple(of_volumes(volumes)),
        mounted_images=tuple(_volume_images(volumes)),
        landing_key=shape(pod),
        runtime=pod.get("runtimeClassName"),
        sees_processes=pod.get("hostPID"),
    )


def _containers(pod: Mapping[str, Any], names: Sequence[str], chosen: str) -> Iterator[Container]:
    """Init containers first. The API server rejects lists of another shape."""
    found: list[tuple[str, Any]] = []
    for kind in CONTAINERS:
        listed = pod.get(kind)
        if listed is UNKNOWN:
            found.append((kind, UNKNOWN))
        elif is_list(listed):
            found += ((f"{kind}[{n}]", each) for n, each in enumerate(listed) if isinstance(each, Mapping | Unknown))
    for number, (place, spec) in enumerate(found):
        is_left = bool(chosen) and isinstance(spec, Mapping) and "image" not in spec
        text = UNKNOWN if is_left else at(spec, "image")
        # A list that is not known yet may have any number of containers.
        name = names[min(number, len(names) - 1) if text is UNKNOWN else number :][:1]
        at_image = f"{place}.image" if place.endswith("]") else place
        yield _container(place, spec, Image(at_image, text, "".join(name), chosen if is_left else ""))


def _container(place: str, spec: Any, image: Image) -> Container:
    if isinstance(spec, Unknown):  # it may mount every volume
        return Container(place, image, is_known=False, mounts=(Mount(place, UNKNOWN, UNKNOWN, UNKNOWN),))
    resources, privileges = spec.get("resources"), spec.get("securityContext")
    return Container(
        place,
        image,
        limits=at(resources, "limits"),
        requests=at(resources, "requests"),
        amounts_place=f"{place}.resources",
        has_claims=bool(at(resources, "claims")),
        env=_variables(spec.get("env")),
        env_place=f"{place}.env",
        mounts=tuple(
            Mount(f"{place}.volumeMounts[{index}]", *(at(each, key) for key in ("name", "mountPath", "readOnly")))
            for index, each in enumerate(items(spec.get("volumeMounts")))
        ),
        privileged=at(privileges, "privileged"),
        capabilities=capabilities(at(privileges, "capabilities", "add") if privileges is not UNKNOWN else None),
        spec=spec,
    )


def _variables(env: Any) -> tuple[Variable, ...] | Unknown:
    if isinstance(env, Unknown):
        return env
    return tuple(Variable(at(each, "name"), at(each, "value"), bool(at(each, "valueFrom"))) for each in items(env))


def _volume_images(volumes: Any) -> Iterator[Image]:
    """Images mounted by `image` volumes; P-GPU reports volumes that are not known yet."""
    for index, volume in enumerate(items(volumes)):
        source = None if volume is UNKNOWN else volume.get("image")
        if isinstance(text := at(volume, "csi", "volumeAttributes", "image"), str):
            yield Image(f"volumes[{index}].csi.volumeAttributes.image", text)
        if source is UNKNOWN:
            yield Image(f"volumes[{index}].image", UNKNOWN)
        elif isinstance(source, Mapping):
            yield Image(f"volumes[{index}].image.reference", source.get("reference"))


def _injected_images(annotations: Mapping[str, Any] | Unknown) -> Iterator[Image]:
    """Images of sidecars in annotations; P-GPU reports annotations that are not known yet."""
    for key, image in annotations.items() if isinstance(annotations, Mapping) else ():
        if _INJECTED.search(key) and not key.startswith(OWN_PREFIX) and image:
            yield Image(f"annotations.{key}", image)


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
        yield from of_docker_hub(name, inputs)
    elif token == CONTAINER_TOKEN:
        yield of_container(name, inputs)
    elif token == SLURM_JOB_TOKEN:
        yield of_slurm_job(name, inputs)
    elif token == SLURM_HUB_TOKEN:
        yield from of_slurm_hub(name, inputs)
    elif why := OUT_OF_SIGHT.get(token):
        yield Workload(f"{token.rpartition(':')[2]} {name}", unread=f"{why}, and none of that was checked")
    elif (kind := kind_of(token)) is not None:
        yield from _of_kubernetes(kind, token, name, inputs)


def _of_kubernetes(kind: Kind, token: str, name: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    called = token.rpartition(":")[2].removesuffix("Patch")
    label = f"{called} {object_name(name, inputs)}"
    if kind == ANY_LIST:
        unread = "it lists objects of any kind, but only objects that are separate resources are checked"
        yield Workload(label, unread=unread)
    elif _is_known(kind) and kind.is_list:
        for index, each in objects(kind, inputs):
            if isinstance(each, Mapping):
                yield from _of_kind(replace(kind, is_list=False), f"{name}[{index}]", each)
            else:
                yield Workload(f"{called} {name}", unread="it is not known yet which objects it lists")
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
    found = _of_template(f"{kind.name} {object_name(name, inputs)}", pod, metadata, is_patch=kind.is_patch)
    yield replace(found, daemon=_daemon(inputs) if kind.name == "DaemonSet" else None)


def _of_custom_resource(token: str, label: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """Its pod templates by path, and one extra workload for everything unreadable."""
    if why := out_of_sight(token):
        yield Workload(label, unread=f"what it creates is deployed outside Pulumi, so none of it was checked: {why}")
        return
    others: list[Place] = []
    for place in places(token, inputs):
        if isinstance(place.template, Mapping):
            pod, metadata = filled_in_later(place.template["spec"]), place.template.get("metadata")
            name, is_patch = f"{place.path} of {label}", token.endswith("Patch")
            yield _of_template(name, pod, metadata, is_patch=is_patch, chosen=_CHOSEN)
        elif place.doubt is Doubt.CHANGES:
            yield Workload(label, unread=f"{place.path} {place.why}")
        else:
            others.append(place)
    if others:
        what = "only the pod templates of such a resource are checked"
        surely_first = sorted(others, key=lambda place: place.doubt is Doubt.MAKES)
        reasons = [f"{place.path} {place.why}" for place in surely_first]
        unread = f"{listing(reasons, most=3)}, so it is not known which pods it creates: {what}"
        yield Workload(label, unread=unread)


def _of_template(label: str, pod: Any, metadata: Any, *, is_patch: bool, chosen: str = "") -> Workload:
    """From one pod template: its spec and metadata, if well-formed."""
    # An unknown template hides all deciding fields: rules then report what they cannot prove.
    spec = pod if isinstance(pod, Mapping) else {**NOTHING_KNOWN, "volumes": UNKNOWN}
    annotations = at(metadata, "annotations")
    annotations = annotations if isinstance(annotations, Mapping | Unknown) else {}
    names = at(annotations, IMAGE)
    names = names.split(",") if isinstance(names, str) else ()
    found = of_pod(label, _patched(spec) if is_patch else spec, image_names=names, chosen=chosen)
    images = (*found.mounted_images, *_injected_images(annotations))
    return replace(found, annotations=annotations, mounted_images=images)


def _daemon(inputs: Mapping[str, Any]) -> Daemon:
    """A DaemonSet's namespace and name; without a name, each replacement gets a new one."""
    namespace, name = at(inputs, "metadata", "namespace") or "default", at(inputs, "metadata", "name")
    return Daemon(*(each if each is UNKNOWN else text(each) for each in (namespace, name)))


def _at(inputs: Any, path: Sequence[str]) -> Any:
    """The value at a path of keys, or an empty mapping."""
    for step in path:
        inputs = inputs.get(step, {}) if isinstance(inputs, Mapping) else inputs
    return inputs


def _profiles(hub: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """KubeSpawner's pods from the hub's own arguments: they never pass through the engine."""
    for name, profile in workloads_of(f"hub {hub}", inputs.get("profiles")):
        if isinstance(profile, Workload):
            yield profile
            continue
        image_name = profile.get("image_name")
        names = [image_name] if isinstance(image_name, str) else []
        yield replace(
            of_pod(name, _profile_pod(profile, inputs), image_names=names),
            start_timeout_s=start_timeout_s(inputs),
            is_pre_pulled=inputs.get("images_are_pre_pulled") is True,
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
