"""Reads workloads of a Docker host: containers, and what a hub there starts. Pure.

Names are those of `docker.Container` in pulumi-docker 5.2.0 in the Pulumi engine's form: camelCase. What only Docker
can do is judged by `gpu_docker_escapes` and the rules P-PORT and P-LIMIT, which read the inputs themselves.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from fleet.labels import GPU_RESOURCE, IMAGE, POOL
from fleet.unknown import UNKNOWN, Unknown
from policies.docker_gpus import GPU_DEVICES, gpu_limits
from policies.hub_profiles import start_timeout_s, workloads_of
from policies.model import Container, HostPath, Image, Mount, Placement, Variable, Workload
from policies.shapes import at, capabilities, is_list, items, some, text
from policies.visibility import VISIBLE_DEVICES
from policies.vocabulary import DOCKER, DOCKER_HUB

DOCKER_HUB_TOKEN: Final = "gpu-commons:index:DockerHub"  # noqa: S105 - a resource type
# Other resources that run or build on a host, and why the pack cannot check them.
OUT_OF_SIGHT: Final = {
    "docker:index/buildxBuilder:BuildxBuilder": "it runs a builder on the host, with privileges of its own",
    "docker:index/compose:Compose": "it runs the containers of a Compose file",
    "docker:index/image:Image": "it builds an image on the host, for which Pulumi recommends docker_build.Image",
    "docker:index/plugin:Plugin": "it gives the engine a plug-in, which gets the privileges that it asks for",
    "docker:index/service:Service": "Swarm starts the containers of a service, on hosts that it chooses",
}
_IMAGE_ID: Final = re.compile(r"sha256:[0-9a-f]{64}")  # `image_id` of a RemoteImage: identifies bytes, not the source
_BY_ID: Final = "is the ID of an image on the host, so the registry that it came from is not known"
_AMOUNTS: Final = {GPU_RESOURCE: "deviceRequests", "cpu": "cpus", "memory": "memory"}
_HUB_AMOUNTS: Final = {GPU_RESOURCE: "gpus", "cpu": "cpu", "memory": "memory_gib"}


def of_container(name: str, inputs: Mapping[str, Any]) -> Workload:
    """A container's single workload."""
    image, its_name, runtime, pid = (inputs.get(key) for key in ("image", "name", "runtime", "pidMode"))
    is_id = isinstance(image, str) and _IMAGE_ID.fullmatch(image) is not None
    limits = {**gpu_limits(inputs), **_amounts(inputs)}
    mounts = [*_mounts(inputs)]
    pool = _label(inputs, POOL)
    places = {"its labels": pool is not None and not isinstance(pool, str), "runtime": runtime is UNKNOWN}
    container = Container(
        "the container",
        Image("image", UNKNOWN if is_id else image, text(_label(inputs, IMAGE)), _BY_ID if is_id else ""),
        limits=limits,
        amounts_place="deviceRequests",
        env=_env(inputs.get("envs")),
        env_place="envs",
        mounts=tuple(each for each in mounts if isinstance(each, Mount)),
        privileged=inputs.get("privileged"),
        capabilities=capabilities(at(inputs, "capabilities", "adds")),
    )
    return Workload(
        f"Container {text(its_name) or name}",
        words=DOCKER,
        containers=(container,),
        host_paths=tuple(each for each in mounts if isinstance(each, HostPath)),
        mounted_images=tuple(each for each in mounts if isinstance(each, Image)),
        **_placed((pool,) if isinstance(pool, str) else None, limits, _AMOUNTS, places),
        # Other runtimes give no GPUs.
        runtime=runtime if runtime is UNKNOWN or "nvidia" in text(runtime) else None,
        sees_processes=pid if pid is UNKNOWN else pid == "host",
        container_name=its_name if its_name is UNKNOWN else text(its_name, name),
        container_inputs=inputs,
    )


def of_docker_hub(hub: str, inputs: Mapping[str, Any]) -> Iterator[Workload]:
    """Each profile's servers and kernels. The hub assigns GPUs at start; each GPU belongs to one container."""
    for name, profile in workloads_of(f"hub {hub}", inputs.get("profiles")):
        yield profile if isinstance(profile, Workload) else _of_profile(name, profile, inputs)
        kernels = None if isinstance(profile, Workload) else profile.get("kernels")
        for called, kernel in workloads_of(name, kernels, "kernel"):
            yield kernel if isinstance(kernel, Workload) else _of_profile(called, kernel, inputs)


def _of_profile(name: str, spec: Mapping[str, Any], hub: Mapping[str, Any]) -> Workload:
    gpus, memory, pool = spec.get("gpus"), spec.get("memory_gib"), hub.get("pool")
    limits: dict[str, Any] = {
        "cpu": spec.get("cpu"),
        "memory": memory if memory is UNKNOWN else f"{memory}Gi",
        **({GPU_RESOURCE: gpus if gpus is UNKNOWN else str(gpus)} if gpus else {}),
    }
    container = Container(
        "it",
        Image("image", spec.get("image"), text(spec.get("image_name"))),
        limits=limits,
        amounts_place="gpus",
        env=() if gpus else (Variable(VISIBLE_DEVICES, "void"),),  # the hub hides GPUs from who has no grant
        env_place="env",
    )
    return Workload(
        name,
        words=DOCKER_HUB,
        containers=(container,),
        **_placed(None if pool is UNKNOWN else (pool,), limits, _HUB_AMOUNTS, {"pool": pool is UNKNOWN}),
        start_timeout_s=start_timeout_s(hub),
        is_pre_pulled=True,  # the component pulls every image
        # As in docker.Container; the hub always sets shared memory.
        container_inputs={"memory": memory, "shmSize": spec.get("shm_gib") or True},
    )


def _amounts(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Memory in MiB, cores as text. Zero: unlimited."""
    memory, cores = inputs.get("memory"), inputs.get("cpus")
    return {
        **({"memory": memory if memory is UNKNOWN else f"{memory}Mi"} if memory else {}),
        **({"cpu": cores} if cores not in (None, "", "0", 0) else {}),
    }


def _env(envs: Any) -> tuple[Variable, ...] | Unknown:
    """NAME without value removes the image's variable."""
    if isinstance(envs, Unknown):
        return envs
    pairs = (each if each is UNKNOWN else text(each).partition("=") for each in (envs if is_list(envs) else ()))
    return tuple(
        Variable(UNKNOWN, UNKNOWN) if isinstance(each, Unknown) else Variable(each[0], each[2] if each[1] else None)
        for each in pairs
    )


def _label(inputs: Mapping[str, Any], name: str) -> Any:
    """UNKNOWN if a label not known yet may be it."""
    labels = items(inputs.get("labels"))
    found = [at(each, "value") for each in labels if at(each, "label") == name]
    return found[-1] if found else UNKNOWN if some(at(each, "label") is UNKNOWN for each in labels) else None


def _mounts(inputs: Mapping[str, Any]) -> Iterator[HostPath | Image | Mount]:
    """What each mount takes from the host, if anything, and where it is in the container."""
    for index, each in enumerate(items(inputs.get("mounts"))):
        place = f"mounts[{index}]"
        yield from _source(place, each)
        yield Mount(f"{place}.target", place, at(each, "target"), at(each, "readOnly"))
    for index, each in enumerate(items(inputs.get("volumes"))):
        place = f"volumes[{index}]"
        yield from _volume(place, each)
        yield Mount(f"{place}.containerPath", place, at(each, "containerPath"), at(each, "readOnly"))
    for index, each in enumerate(items(inputs.get("devices"))):
        path = at(each, "hostPath")
        # `gpu_docker_escapes` reports devices that name GPUs.
        if path is UNKNOWN or (text(path).startswith("/") and not text(path).startswith(GPU_DEVICES)):
            place = f"devices[{index}]"
            yield HostPath(f"{place}.hostPath", path, place)
            yield Mount(place, place, "", is_read_only=True)


def _source(place: str, mount: Any) -> Iterator[HostPath | Image]:
    kind, source = at(mount, "type"), at(mount, "source")
    if kind == "volume":
        # The engine's own driver binds a folder if told so by its options.
        device = at(mount, "volumeOptions", "driverOptions", "device")
        if device is UNKNOWN or text(device).startswith("/"):
            yield HostPath(f"{place}.volumeOptions.driverOptions.device", device, place)
    elif kind == "image":
        yield Image(f"{place}.source", source)
    elif kind != "tmpfs" and (kind in ("bind", UNKNOWN) or source is UNKNOWN):
        yield HostPath(f"{place}.source", source, place)


def _volume(place: str, volume: Any) -> Iterator[HostPath]:
    """`volumeName` starting with a slash is a path: the provider passes both alike."""
    for key in ("hostPath", "volumeName"):
        if (source := at(volume, key)) is UNKNOWN or source:
            if source is UNKNOWN or key == "hostPath" or text(source).startswith("/"):
                yield HostPath(f"{place}.{key}", source, place)
            return


def _placed(
    pools: tuple[Any, ...] | None, amounts: Mapping[str, Any], places: Mapping[str, str], unknown: Mapping[str, bool]
) -> dict[str, Any]:
    placement = Placement(pools, amounts, places, tuple(place for place, is_so in unknown.items() if is_so))
    return {"placement": placement, "landing_key": repr(placement)}
