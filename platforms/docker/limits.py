"""Resource limits of a container in the engine API's units: the only reader of runtime profiles. Pure.

`platforms.docker.container` writes them for pulumi-docker, `platforms.docker.hub_bodies` for an engine.
"""

import math
from dataclasses import dataclass
from typing import Final

from platforms.docker.container_model import RuntimeProfile

MIB: Final = 2**20
DEFAULT_SHM_GIB: Final = 0.0625  # 64 MiB, the engine's own
LOG_DRIVER: Final = "json-file"
LOG: Final = {"max-size": "10m", "max-file": "3"}  # otherwise logs grow without limit
DROPPED: Final = ("ALL",)
SECURITY: Final = ("no-new-privileges:true",)
NO_GPU: Final = {"NVIDIA_VISIBLE_DEVICES": "void"}  # images of the CUDA family request all GPUs by themselves


@dataclass(frozen=True, slots=True)
class Limits:
    """Memory and shared memory in whole MiB, cores, process limits by name; -1: unlimited."""

    memory_mib: int
    shm_mib: int
    cpu: float
    ipc: str
    ulimits: tuple[tuple[str, int], ...]


def limits_of(runtime: RuntimeProfile, *, cpu: float, memory_gib: float, shm_gib: float | None) -> Limits:
    """All limits of a container: nothing is left to engine defaults."""
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
