"""Words by which a runtime gives GPUs to a container: variables and runtime classes. Data."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final

VISIBLE_DEVICES: Final = "NVIDIA_VISIBLE_DEVICES"
HIDING: Final = {"", "void", "none"}  # values that show no GPU
VISIBILITY_VARIABLES: Final = {
    VISIBLE_DEVICES: HIDING,
    "CUDA_VISIBLE_DEVICES": {*HIDING, "-1", "nodevfiles"},
    # They let a container divide the GPUs of the node, also those of others.
    "NVIDIA_MIG_CONFIG_DEVICES": HIDING,
    "NVIDIA_MIG_MONITOR_DEVICES": HIDING,
}


def is_hiding(value: Any, hiding: Collection[str] = HIDING) -> bool:
    """Whether a variable of this value shows no GPU."""
    return str(value or "").strip().lower() in hiding
