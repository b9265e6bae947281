"""Words by which a runtime gives GPUs to a container: variables and annotations. Data."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

VISIBLE_DEVICES: Final = "NVIDIA_VISIBLE_DEVICES"
HIDING: Final = {"", "void", "none"}  # values that show no GPU
VISIBILITY_VARIABLES: Final = {
    VISIBLE_DEVICES: HIDING,
    "CUDA_VISIBLE_DEVICES": {*HIDING, "-1", "NoDevFiles"},
    # They let a container divide the GPUs of the node, also those of others.
    "NVIDIA_MIG_CONFIG_DEVICES": HIDING,
    "NVIDIA_MIG_MONITOR_DEVICES": HIDING,
}
# Annotations that make the runtime add devices. Any prefix may stand before the first: it is a setting of the toolkit,
# and its NRI plug-in has another prefix. Sources: github:cncf-tags/container-device-interface pkg/cdi/annotations.go,
# github:NVIDIA/nvidia-container-toolkit internal/nri, github:containerd/nri plugins/device-injector,
# github:cri-o/cri-o pkg/annotations.
DEVICE_ANNOTATIONS: Final = re.compile(
    r"cdi\.k8s\.io/|(?:^|[.-])(?:nri\.io|noderesource\.dev)/|^io\.kubernetes\.cri-o\.Devices"
)


def is_hiding(value: Any, hiding: Collection[str] = HIDING) -> bool:
    """Whether a variable of this value shows no GPU."""
    return value is None or (isinstance(value, str) and value in hiding)
