"""Hosts the components for programs in any language: `pulumi package add <path or git address>/components`.

The folder works in a clone, or copied elsewhere together with the folders it depends on: `pulumi package add` (or
`pulumi install` in the folder) creates its environment with uv from the pyproject.toml next to this file.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

# A folder copied elsewhere is not an installed package: adding its parent makes `components` importable.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

BELOW = ("errors", "compat", "fleet", "images", "imaging", "workloads", "platforms")  # folders the components depend on
if absent := [name for name in BELOW if find_spec(name) is None]:
    # Not to stdout: the engine reads the port there.
    beside = Path(__file__).resolve().parent.parent
    print(f"error: not in {beside}: {', '.join(absent)}; copy these folders there as well", file=sys.stderr)
    sys.exit(1)

from pulumi.provider.experimental import component_provider_host

from components.gpu_image import GpuImage
from components.on_kubernetes.gpu_job import GpuJob
from components.on_kubernetes.gpu_node_pool import GpuNodePool
from components.on_kubernetes.notebook_hub import NotebookHub
from components.on_kubernetes.nvidia_runtime import NvidiaRuntime
from components.on_kubernetes.pre_puller import PrePuller

HOSTED = (GpuImage, GpuJob, GpuNodePool, NotebookHub, NvidiaRuntime, PrePuller)

if __name__ == "__main__":
    component_provider_host(components=[*HOSTED], name="gpu-commons", version="0.1.0")
