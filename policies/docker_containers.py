"""Reads a Docker container as the pod that would request the same, so that rules treat both alike. Pure.

Names are those of `docker.Container` in pulumi-docker 5.2.0 in the Pulumi engine's form: camelCase. Inputs
without a counterpart in a pod are judged by `gpu_docker_escapes` and the rules P-PORT and P-LIMIT.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from fleet.labels import GPU_RESOURCE, IMAGE, POOL
from fleet.unknown import UNKNOWN
from policies.docker_gpus import GPU_DEVICES, gpu_limits
from policies.model import DockerContainer, Workload
from policies.shapes import at, is_list, items, some, text
from policies.wording import DOCKER

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
_BIND, _VOLUME, _OF_IMAGE = "bind", "volume", "image"  # mount types
_ONLY: Final = "containers[0]"


@dataclass(frozen=True, slots=True)
class _Mount:
    """One pod volume, empty if it uses nothing of the host; its source and target in the inputs."""

    source: str  # mounts[0].source
    volume: Mapping[str, Any]
    target: tuple[str, Any] | None = None  # mounts[0].target, /data
    is_read_only: Any = None


def of_container(name: str, inputs: Mapping[str, Any]) -> Workload:
    """A container's single workload."""
    image = inputs.get("image")
    is_id = isinstance(image, str) and _IMAGE_ID.fullmatch(image) is not None
    mounts = list(_mounts(inputs))
    pod = _pod(inputs, mounts, UNKNOWN if is_id else image)
    its_name = inputs.get("name")
    return Workload(
        f"Container {text(its_name) or name}",
        pod,
        left_out={f"{_ONLY}.image": _BY_ID} if is_id else {},
        image_names=(label,) if isinstance(label := _label(inputs, IMAGE), str) else (),
        container=DockerContainer(its_name if its_name is UNKNOWN else text(its_name, name), inputs),
        words=replace(DOCKER, places=_places(mounts)),
    )


def _pod(inputs: Mapping[str, Any], mounts: list[_Mount], image: Any) -> dict[str, Any]:
    limits = {**gpu_limits(inputs), **_amounts(inputs)}
    container = {
        "image": image,
        "resources": {"limits": limits},
        "env": _env(inputs.get("envs")),
        "securityContext": {
            "privileged": inputs.get("privileged"),
            "capabilities": {"add": at(inputs, "capabilities", "adds")},
        },
        "volumeMounts": [
            {"name": f"v{number}", "mountPath": each.target[1], "readOnly": each.is_read_only}
            for number, each in enumerate(mounts)
            if each.target
        ],
    }
    runtime, pool = inputs.get("runtime"), _label(inputs, POOL)
    pid = inputs.get("pidMode")
    return {
        # Engines have no taints.
        "tolerations": [{"operator": "Exists"}],
        "containers": [container],
        "volumes": [{"name": f"v{number}", **each.volume} for number, each in enumerate(mounts)],
        **({"nodeSelector": {POOL: pool} if isinstance(pool, str) else UNKNOWN} if pool is not None else {}),
        **({"runtimeClassName": runtime} if runtime is UNKNOWN or _is_nvidias(runtime) else {}),
        **({"hostPID": pid if pid is UNKNOWN else True} if pid in ("host", UNKNOWN) else {}),
    }


def _is_nvidias(runtime: Any) -> bool:
    """Other runtimes give no GPUs, and engines have no runtime class with a node selector."""
    return isinstance(runtime, str) and "nvidia" in runtime


def _amounts(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Memory in MiB, cores as text. Zero: unlimited."""
    memory, cores = inputs.get("memory"), inputs.get("cpus")
    return {
        **({"memory": memory if memory is UNKNOWN else f"{memory}Mi"} if memory else {}),
        **({"cpu": cores} if cores not in (None, "", "0", 0) else {}),
    }


def _env(envs: Any) -> Any:
    if envs is UNKNOWN:
        return UNKNOWN
    entries = (each if each is UNKNOWN else text(each).partition("=") for each in envs) if is_list(envs) else ()
    # NAME without value removes the image's variable.
    return [
        each if each is UNKNOWN else {"name": each[0], "value": each[2] if each[1] else None}
        for each in entries
        if each
    ]


def _label(inputs: Mapping[str, Any], name: str) -> Any:
    """UNKNOWN if a label not known yet may be it."""
    labels = items(inputs.get("labels"))
    found = [at(each, "value") for each in labels if at(each, "label") == name]
    return found[-1] if found else UNKNOWN if some(at(each, "label") is UNKNOWN for each in labels) else None


def _places(mounts: list[_Mount]) -> dict[str, str]:
    """Pod path → input path."""
    found = {_ONLY: "the container", f"{_ONLY}.image": "image", f"{_ONLY}.env": "envs"}
    found |= {"nodeSelector": "its labels", f"{_ONLY}.resources": "deviceRequests"}
    limits = {GPU_RESOURCE: "deviceRequests", "cpu": "cpus", "memory": "memory"}
    found |= {f"{_ONLY}.resources.limits.{name}": place for name, place in limits.items()}
    for number, each in enumerate(mounts):
        for key in ("", ".hostPath", ".image", ".image.reference"):
            found[f"volumes[{number}]{key}"] = each.source
    for number, target in enumerate(each.target for each in mounts if each.target):
        found[f"{_ONLY}.volumeMounts[{number}]"] = target[0]
    return found


def _mounts(inputs: Mapping[str, Any]) -> Iterator[_Mount]:
    for index, each in enumerate(items(inputs.get("mounts"))):
        yield _mount(f"mounts[{index}]", each)
    for index, each in enumerate(items(inputs.get("volumes"))):
        yield _volume(f"volumes[{index}]", each)
    for index, each in enumerate(items(inputs.get("devices"))):
        path = at(each, "hostPath")
        # `gpu_docker_escapes` reports devices that name GPUs.
        if path is UNKNOWN or (text(path).startswith("/") and not text(path).startswith(GPU_DEVICES)):
            yield _Mount(f"devices[{index}].hostPath", _path(path), (f"devices[{index}]", ""), is_read_only=True)


def _mount(where: str, mount: Any) -> _Mount:
    kind, source = at(mount, "type"), at(mount, "source")
    target, reads = (f"{where}.target", at(mount, "target")), at(mount, "readOnly")
    if kind == _VOLUME:
        # The engine's own driver binds a folder if told so by its options.
        options = at(mount, "volumeOptions", "driverOptions")
        device = at(options, "device")
        is_folder = device is UNKNOWN or text(device).startswith("/")
        place = f"{where}.volumeOptions.driverOptions.device"
        return _Mount(place, _path(device) if is_folder else {}, target, reads)
    if kind == _OF_IMAGE:
        return _Mount(f"{where}.source", {"image": {"reference": source}}, target, reads)
    is_path = kind in (_BIND, UNKNOWN) or source is UNKNOWN
    return _Mount(f"{where}.source", _path(source) if is_path and kind != "tmpfs" else {}, target, reads)


def _volume(where: str, volume: Any) -> _Mount:
    """`volumeName` starting with a slash is a path: the provider passes both alike."""
    target, reads = (f"{where}.containerPath", at(volume, "containerPath")), at(volume, "readOnly")
    for key in ("hostPath", "volumeName"):
        if (source := at(volume, key)) is UNKNOWN or source:
            is_path = source is UNKNOWN or key == "hostPath" or text(source).startswith("/")
            return _Mount(f"{where}.{key}", _path(source) if is_path else {}, target, reads)
    return _Mount(where, {}, target, reads)


def _path(source: Any) -> dict[str, Any]:
    return {"hostPath": source if source is UNKNOWN else {"path": source}}
