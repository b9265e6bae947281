"""Pod annotations that make a runtime, its plug-in or a scheduler grant GPUs. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from fleet.labels import GPU_RESOURCE
from fleet.unknown import UNKNOWN
from policies.finding import Finding, Level
from policies.host_paths import reaches
from policies.model import Workload
from policies.visibility import DEVICE_ANNOTATIONS
from policies.wording import DOCKER, Vocabulary

# With these, another scheduler allocates GPU fractions. Source: github:NVIDIA/KAI-Scheduler docs/gpu-sharing.
PARTS = frozenset({"gpu-fraction", "gpu-fraction-num-devices", "gpu-memory"})
NUMBERS = re.compile(r"\bmajor\W{1,4}(?:195|0[xX][cC]3)\b")  # NVIDIA device numbers, under any file name


def of_annotations(workload: Workload) -> Iterator[Finding]:
    """Devices requested from the runtime by annotation."""
    if workload.annotations is UNKNOWN:
        if workload.pod.get("containers") is not UNKNOWN:
            yield Finding("its annotations are not known yet: one may add devices", Level.UNPROVED)
        return
    for key, value in workload.annotations.items():
        if key in PARTS:
            yield Finding(
                f"annotation {key} asks for part of a GPU without {GPU_RESOURCE}, so nothing accounts for it",
                remedy=f"Remove it; {workload.words.requests}.",
            )
            continue
        adds_volume = isinstance(value, str) and "hostPath" in value
        if not adds_volume and not DEVICE_ANNOTATIONS.search(key):
            continue
        if value is UNKNOWN:
            yield Finding(f"annotation {key} is not known yet: it may add GPUs", Level.UNPROVED)
        elif _names_gpus(key, str(value)):
            yield Finding(
                f"annotation {key} adds GPUs {bypassing(workload.words)}",
                remedy=f"Remove it; {workload.words.requests}.",
            )


def bypassing(words: Vocabulary) -> str:
    """How a workload that selects GPUs itself takes them."""
    return "by hand, no matter who holds them" if words.system == DOCKER.system else "and bypasses the scheduler"


def _names_gpus(key: str, value: str) -> bool:
    """By name, number, a host path that reaches them, or `all` under NVIDIA's own prefix."""
    is_named = "nvidia" in value.lower() or (key.startswith("nvidia.") and "=" not in value)
    return is_named or bool(NUMBERS.search(value)) or any(reaches(value))
