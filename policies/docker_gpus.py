"""GPU requests of a Docker container: `gpus`, `deviceRequests`, `devices`, runtime variables. Pure.

Names are those of `docker.Container` in pulumi-docker 5.2.0. The provider reads `gpus` as `docker run --gpus` does,
without the quotes around the whole of it: github:kreuzwerker/terraform-provider-docker
internal/provider/resource_docker_container_funcs.go, github:docker/cli opts/gpus.go.
"""

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from fleet.labels import GPU_RESOURCE
from fleet.unknown import UNKNOWN, Unknown
from policies.shapes import at, is_list, items, text
from policies.visibility import VISIBLE_DEVICES, is_hiding

_ALL: Final = -1  # as in the engine
_CDI: Final = "cdi"
_OF_NVIDIA: Final = re.compile(r"^nvidia\.com/[\w-]+=(.+)$")  # a CDI device name
GPU_DEVICES: Final = "/dev/nvidia"
_DEVICE_FILE: Final = re.compile(rf"^{GPU_DEVICES}(\d+)$")
_OTHER_MAKERS: Final = frozenset({"amd", "intel"})


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """One request, as far as known.

    `devices` are indices or UUIDs, a `count` of -1 means all, and `fault` is the reason for a rejection.
    """

    where: str  # deviceRequests[0]
    devices: tuple[str, ...] = ()
    count: int = 0
    is_known: bool = True
    fault: str = ""
    is_by_hand: bool = False  # not a request, but gives GPUs: a device file, a variable

    @property
    def takes_all(self) -> bool:
        """Whether it takes every GPU of the host."""
        return self.count < 0 or "all" in self.devices

    @property
    def least(self) -> int | Unknown:
        """The minimum number of GPUs it gets."""
        if not self.is_known:
            return UNKNOWN
        return 1 if self.takes_all else max(len(set(self.devices)), self.count)


def gpu_requests(inputs: Mapping[str, Any]) -> Iterator[GpuRequest]:
    """A container's requests for NVIDIA GPUs in any form."""
    gpus = inputs.get("gpus")
    if gpus is UNKNOWN:
        yield GpuRequest("gpus", is_known=False)
    elif isinstance(gpus, str) and gpus.strip():
        yield _of_text(gpus)
    for index, each in enumerate(items(inputs.get("deviceRequests"))):
        if (found := _of_request(f"deviceRequests[{index}]", each)) is not None:
            yield found
    for index, each in enumerate(items(inputs.get("devices"))):
        path = text(at(each, "hostPath"))
        if (card := _DEVICE_FILE.match(path)) is not None:
            yield GpuRequest(f"devices[{index}]", (card[1],), is_by_hand=True)
        elif _OF_NVIDIA.match(path):
            yield GpuRequest(f"devices[{index}]", fault=f"devices[{index}].hostPath {path} is not a path on the host")
    yield from _of_runtime(inputs)


def _of_text(gpus: str) -> GpuRequest:
    gpus = gpus.strip()
    while len(gpus) > 1 and gpus[0] == gpus[-1] and gpus[0] in "\"'":
        gpus = gpus[1:-1].strip()
    fields = [field.partition("=") for field in next(csv.reader([gpus]), [])]
    driver = next((value for key, _, value in fields if key == "driver"), "")
    if driver in _OTHER_MAKERS:
        return GpuRequest("gpus")
    devices = [value for key, _, value in fields if key == "device"]
    counts = [value if key == "count" else key for key, is_pair, value in fields if key == "count" or not is_pair]
    if devices and counts:
        why = "the provider splits it at the comma, and the engine rejects what is left"
        return GpuRequest("gpus", fault=f"gpus {gpus} names no devices: {why}")
    if devices:
        return GpuRequest("gpus", tuple(filter(None, devices[0].split(","))))
    count = counts[0] if counts else "1"
    if count == "all":
        return GpuRequest("gpus", count=_ALL)
    if not re.fullmatch(r"-?\d{1,9}", count):
        return GpuRequest("gpus", fault=f"gpus {gpus} is neither all nor device=ID")
    return GpuRequest("gpus", count=int(count))


def _of_request(where: str, request: Mapping[str, Any] | Unknown) -> GpuRequest | None:
    """None for other devices."""
    if request is UNKNOWN:
        return GpuRequest(where, is_known=False)
    driver, ids, count = (at(request, key) for key in ("driver", "deviceIds", "count"))
    if isinstance(driver, str) and driver in _OTHER_MAKERS:
        return None
    listed = list(ids) if is_list(ids) else []
    names = [each for each in listed if isinstance(each, str)]
    others = [name for name in names if "/" in name and not _OF_NVIDIA.match(name)]
    if UNKNOWN in (driver, ids, count) or UNKNOWN in listed:
        return None if names and len(others) == len(listed) else GpuRequest(where, is_known=False)
    devices = [found[1] if (found := _OF_NVIDIA.match(name)) else name for name in names if name not in others]
    number = count if isinstance(count, int) and not isinstance(count, bool) else 0
    if devices and number:
        return GpuRequest(where, fault=f"{where} names devices and a count; the engine only accepts one of the two")
    if driver == _CDI and number:
        return GpuRequest(where, fault=f"{where} has a count, but with CDI the engine only accepts device names")
    return GpuRequest(where, tuple(devices), number) if devices or number else None


def _of_runtime(inputs: Mapping[str, Any]) -> Iterator[GpuRequest]:
    """GPUs from the container variable of NVIDIA's runtime; another rule refuses the variable itself."""
    if not isinstance(runtime := inputs.get("runtime"), str) or "nvidia" not in runtime:
        return
    envs = inputs.get("envs")
    for entry in envs if is_list(envs) else ():
        name, _, value = text(entry).partition("=")
        if name == VISIBLE_DEVICES and not is_hiding(value):
            yield GpuRequest(f"envs.{VISIBLE_DEVICES}", tuple(value.split(",")), is_by_hand=True)


def gpu_limits(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """The same as Kubernetes container limits; empty without a request."""
    if inputs.get("deviceRequests") is UNKNOWN:
        return {GPU_RESOURCE: UNKNOWN}
    least = [each.least for each in gpu_requests(inputs)]
    if UNKNOWN in least:
        return {GPU_RESOURCE: UNKNOWN}
    total = sum(number for number in least if isinstance(number, int))
    return {GPU_RESOURCE: str(total)} if total else {}
