"""What a container may use and do, in the units of an engine's API: the one place that reads a runtime profile. Pure.

`platforms.docker.container` writes it as pulumi-docker takes it, `platforms.docker.hub_bodies` as an engine does.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

from platforms.docker.container_model import RuntimeProfile

MIB: Final = 2**20
DEFAULT_SHM_GIB: Final = 0.0625  # 64 MiB, the engine's own
LOG_DRIVER: Final = "json-file"
LOG: Final = {"max-size": "10m", "max-file": "3"}  # such a log has no end by itself
DROPPED: Final = ("ALL",)
SECURITY: Final = ("no-new-privileges:true",)
NO_GPU: Final = {"NVIDIA_VISIBLE_DEVICES": "void"}  # an image of the CUDA family asks for all GPUs by itself


@dataclass(frozen=True, slots=True)
class Limits:
    """Memory and shared memory in whole MiB, cores, limits of processes by name; -1 is no limit."""

    memory_mib: int
    shm_mib: int
    cpu: float
    ipc: str
    ulimits: tuple[tuple[str, int], ...]


def limits_of(runtime: RuntimeProfile, *, cpu: float, memory_gib: float, shm_gib: float | None) -> Limits:
    """Every limit of a container: nothing is left to an engine's defaults."""
    ulimits: list[tuple[str, int]] = []
    if runtime.memlock is not None:
        ulimits.append(("memlock", -1 if runtime.memlock == "unlimited" else runtime.memlock))
    if runtime.stack_mib is not None:
        ulimits.append(("stack", runtime.stack_mib * MIB))
    return Limits(
        memory_mib=round(memory_gib * 1024),
        shm_mib=math.ceil((shm_gib or DEFAULT_SHM_GIB) * 1024),
        cpu=cpu,
        ipc=runtime.ipc or "private",
        ulimits=tuple(ulimits),
    )
