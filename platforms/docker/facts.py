"""Facts that a Docker engine reports, and reasons to refuse a stack. Pure.

The fields are those of `GET /info` and `GET /version` of the engine's API
(https://docs.docker.com/reference/api/engine/version/v1.52/#tag/System).
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from errors.problems import listing
from platforms.docker.container_model import GpuAccess

LOWEST_API: Final = (1, 40)  # Docker 19.03: the first with device requests
CDI_API: Final = (1, 44)  # Docker 25: CDI names in device requests
_GIB: Final = 2**30


@dataclass(frozen=True, slots=True)
class HostFacts:
    """Memory in GiB. Unreported facts are empty."""

    engine: str
    api: str
    system: str
    kernel: str
    cpus: int
    memory_gib: float
    cgroup: str
    storage: str
    data_root: str
    runtimes: tuple[str, ...]
    cdi_devices: tuple[str, ...]

    def rows(self) -> tuple[tuple[str, str], ...]:
        """Table rows: label and value."""
        return (
            ("engine", f"{self.engine} (API {self.api})"),
            ("system", f"{self.system}, kernel {self.kernel}"),
            ("CPU, memory", f"{self.cpus} cores, {self.memory_gib:.0f} GiB"),
            ("cgroup", self.cgroup),
            ("images", f"{self.storage} in {self.data_root}"),
            ("runtimes", ", ".join(self.runtimes)),
            ("CDI devices", listing(self.cdi_devices) or "none"),
        )


def facts_of(info: Mapping[str, Any], version: Mapping[str, Any]) -> HostFacts:
    """From the engine's two answers."""
    return HostFacts(
        engine=str(version.get("Version", "")),
        api=str(version.get("ApiVersion", "")),
        system=str(info.get("OperatingSystem", "")),
        kernel=str(info.get("KernelVersion", "")),
        cpus=int(info.get("NCPU") or 0),
        memory_gib=int(info.get("MemTotal") or 0) / _GIB,
        cgroup=f"v{info.get('CgroupVersion') or '1'}, {info.get('CgroupDriver', '')}",
        storage=str(info.get("Driver", "")),
        data_root=str(info.get("DockerRootDir", "")),
        runtimes=tuple(sorted(info.get("Runtimes") or ())),
        cdi_devices=tuple(
            sorted(str(each.get("ID")) for each in info.get("DiscoveredDevices") or () if each.get("Source") == "cdi")
        ),
    )


def refusals(facts: HostFacts, access: GpuAccess | None, cpu: float, memory_gib: float) -> Iterator[str]:
    """Why a host cannot match its pool; `access`: how its containers get GPUs, None for a host without."""
    api = _api(facts.api)
    if api < LOWEST_API:
        yield f"its engine {facts.engine} speaks API {facts.api}; 1.40 is the lowest (Docker 19.03)"
    if access == "cdi" and api < CDI_API:
        yield f"its engine {facts.engine} has no CDI (Docker 25 or later has): write gpu_access: runtime"
    if access == "runtime" and "nvidia" not in facts.runtimes:
        names = listing(facts.runtimes)
        yield f"its engine has no runtime nvidia, only {names}: gpu-commons probe prints what configures it"
    if facts.cpus and cpu > facts.cpus:
        yield f"it has {facts.cpus} cores, and its pool says {cpu:g}"
    # Firmware and kernel use part of the nominal memory.
    if facts.memory_gib and memory_gib > facts.memory_gib * 1.1:
        yield f"it has {facts.memory_gib:.0f} GiB of memory, and its pool says {memory_gib:g}"


def _api(version: str) -> tuple[int, int]:
    found = re.match(r"(\d+)\.(\d+)", version)
    return (int(found[1]), int(found[2])) if found else (0, 0)
