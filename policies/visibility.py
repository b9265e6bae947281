"""Variables and annotations that make a runtime grant GPUs. Data."""

import re
from collections.abc import Collection
from typing import Any, Final

VISIBLE_DEVICES: Final = "NVIDIA_VISIBLE_DEVICES"
HIDING: Final = {"", "void", "none"}  # values that hide GPUs
VISIBILITY_VARIABLES: Final = {
    VISIBLE_DEVICES: HIDING,
    "CUDA_VISIBLE_DEVICES": {*HIDING, "-1", "NoDevFiles"},
    # They let a container partition the node's GPUs, even those of others.
    "NVIDIA_MIG_CONFIG_DEVICES": HIDING,
    "NVIDIA_MIG_MONITOR_DEVICES": HIDING,
}
# Annotations that make the runtime add devices. The prefix before the first is configurable in the toolkit,
# and its NRI plug-in uses another. Sources: github:cncf-tags/container-device-interface pkg/cdi/annotations.go,
# github:NVIDIA/nvidia-container-toolkit internal/nri, github:containerd/nri plugins/device-injector,
# github:cri-o/cri-o pkg/annotations.
DEVICE_ANNOTATIONS: Final = re.compile(
    r"cdi\.k8s\.io/|(?:^|[.-])(?:nri\.io|noderesource\.dev)/|^io\.kubernetes\.cri-o\.Devices"
)


def is_hiding(value: Any, hiding: Collection[str] = HIDING) -> bool:
    """Whether this variable value hides all GPUs."""
    return value is None or (isinstance(value, str) and value in hiding)
