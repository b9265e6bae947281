"""Hosts the components for other languages: `pulumi package add <path>/components`."""

import sys
from pathlib import Path

# A folder that was copied elsewhere is not an installed package: its parent makes `components` importable.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from pulumi.provider.experimental import component_provider_host

from components.gpu_image import GpuImage
from components.gpu_job import GpuJob
from components.gpu_node_pool import GpuNodePool
from components.notebook_hub import NotebookHub
from components.nvidia_runtime import NvidiaRuntime

if __name__ == "__main__":
    component_provider_host(
        components=[GpuImage, GpuJob, GpuNodePool, NotebookHub, NvidiaRuntime], name="gpu-commons", version="0.1.0"
    )
