"""What a third-party base image contains, by its name: framework, CUDA, and the lowest driver for it. Pure."""

from __future__ import annotations

from compat.evidence.drivers import major_floor, native_floor
from compat.values.hosts import Platform
from compat.values.versions import CudaVersion
from imaging.references import known_image


def brings(reference: str) -> str:
    """`tensorflow 1.12.0, CUDA 10.0.130 for drivers from 410.48 on`; empty if the tables know neither."""
    named = known_image(reference)
    if named is None or named.gpu_free:
        return ""
    framework = f"{named.framework} {named.framework_version}".strip()
    return ", ".join([*filter(None, [framework]), *map(_cuda, named.cudas)])


def _cuda(cuda: CudaVersion) -> str:
    native, lowest = native_floor(cuda, Platform.LINUX), major_floor(cuda)
    if native is None:
        return f"CUDA {cuda}"
    below = f"; by minor versions from {lowest[0]} on" if lowest and lowest[0] < native[0] else ""
    return f"CUDA {cuda} for drivers from {native[0]} on{below}"
