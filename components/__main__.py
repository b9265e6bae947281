"""Hosts the components for programs in any language: `pulumi package add <path or git address>/components`.

The folder works wherever it is copied to, under the name `components`: `pulumi package add` (or `pulumi install` in the
folder) makes its environment with uv from the pyproject.toml beside this file. Nothing else of the project is needed,
but for GpuImage: it builds from image specs, and is hosted only where the folder `images` lies beside this one.
"""

import sys
from pathlib import Path

# A folder that was copied elsewhere is not an installed package: its parent makes `components` importable.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import pulumi
from pulumi.provider.experimental import component_provider_host

from components.gpu_job import GpuJob
from components.gpu_node_pool import GpuNodePool
from components.notebook_hub import NotebookHub
from components.nvidia_runtime import NvidiaRuntime
from components.pre_puller import PrePuller


def hosted() -> list[type[pulumi.ComponentResource]]:
    """Every component that can work here."""
    found: list[type[pulumi.ComponentResource]] = [GpuJob, GpuNodePool, NotebookHub, NvidiaRuntime, PrePuller]
    try:
        from components.gpu_image import GpuImage  # noqa: PLC0415 - the others must work without it
    except ModuleNotFoundError as missing:
        if missing.name is None or missing.name.partition(".")[0] != "images":
            raise
        # Not to stdout: the engine reads the port there.
        beside = Path(__file__).resolve().parent.parent
        print(f"gpu-commons: no GpuImage here: copy the folder images to {beside} as well", file=sys.stderr)
        return found
    return [*found, GpuImage]


if __name__ == "__main__":
    component_provider_host(components=hosted(), name="gpu-commons", version="0.1.0")
