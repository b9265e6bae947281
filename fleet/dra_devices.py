"""A GPU as NVIDIA's driver for dynamic resource allocation (DRA) publishes it in a ResourceSlice. Pure.

Versions are semantic, without leading zeros: driver 580.95.05 is 580.95.5.
Sources: https://github.com/kubernetes-sigs/dra-driver-nvidia-gpu/issues/719 and 744, whose recorded slices the tests
compare; https://kubernetes.io/docs/concepts/scheduling-eviction/dynamic-resource-allocation/
"""

from dataclasses import dataclass
from typing import Final

from compat.evidence.drivers import native_cuda
from compat.facts.rows import GpuModel
from compat.values.versions import DriverVersion
from fleet.labels import gfd_product, reported_memory

DRIVER: Final = "gpu.nvidia.com"  # name of the driver, of its class of whole GPUs, and of its attributes
WHOLE_GPU: Final = "gpu"  # value of the attribute `type`


@dataclass(frozen=True, slots=True)
class Device:
    """One whole GPU of a node. Memory is a range: NVML reports less than nominal, and not all GPUs were measured."""

    product: str  # NVIDIA L4; empty: no table has the driver's name for it
    driver_version: str  # 580.159.3
    cuda_version: str  # 13.0.0
    compute_capability: str  # 8.9.0
    memory_mib: range


def device_of(model: GpuModel, driver: DriverVersion) -> Device:
    """What the driver publishes for a GPU of a model. Raises `UnknownFact` for a driver that no table has."""
    cuda, capability = native_cuda(driver), model.compute_capability
    parts = [str(int(part)) for part in driver.parts if part] + ["0", "0"]
    return Device(
        product=model.name if model.name.replace(" ", "-") == gfd_product(model, driver) else "",
        driver_version=".".join(parts[:3]),
        cuda_version=f"{cuda.major}.{cuda.minor}.0",
        compute_capability=f"{capability.major}.{capability.minor}.0",
        memory_mib=reported_memory(model),
    )
