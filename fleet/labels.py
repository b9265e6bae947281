"""Names of labels, annotations, taints and resources: established ones and a few of our own.

One owner per label: GPU feature discovery or the site sets `nvidia.com/*`, we set `gpu-commons.org/*`.
"""

from dataclasses import dataclass
from typing import Final

from compat.evidence.drivers import native_cuda
from compat.evidence.names.gpu_names import FIRST_BRANCH_WITH_MAKER
from compat.facts.rows import GpuModel
from compat.values.versions import DriverVersion

POOL: Final = "gpu-commons.org/pool"
DRIVER: Final = "gpu-commons.org/driver"
TOOLKIT: Final = "gpu-commons.org/container-toolkit"
IMAGE: Final = "gpu-commons.org/image"  # annotation of pod templates: the image's name in the stack
OWN_PREFIX: Final = "gpu-commons.org/"
# Labels of the containers and networks that a hub on a Docker host makes for its users.
HUB: Final = "gpu-commons.org/hub"
USER: Final = "gpu-commons.org/user"

OS: Final = "kubernetes.io/os"
ARCH: Final = "kubernetes.io/arch"
LINUX: Final = "linux"  # the OS of every described node

GPU_RESOURCE: Final = "nvidia.com/gpu"
NVIDIA_PREFIX: Final = "nvidia.com/"
GFD_PRODUCT: Final = "nvidia.com/gpu.product"
GFD_MEMORY: Final = "nvidia.com/gpu.memory"
GFD_DRIVER: Final = "nvidia.com/cuda.driver-version.full"  # what a node reports; DRIVER is what its pool declares
# Labels of every GPU node under node feature discovery and the GPU operator, whatever its GPU.
ALWAYS_DISCOVERED: Final = {"nvidia.com/gpu.present": "true", "feature.node.kubernetes.io/pci-10de.present": "true"}
# Runtime classes of the container toolkit and the GPU operator: none has a toleration or a node selector.
NVIDIA_CLASSES: Final = frozenset({"nvidia", "nvidia-cdi", "nvidia-legacy", "nvidia-experimental"})
OWNED_PREFIXES: Final = (NVIDIA_PREFIX, OWN_PREFIX)  # of labels and taints that a stack file never sets itself
# Labels that daemons and clouds set; no stack file repeats them.
DISCOVERED_PREFIXES: Final = (NVIDIA_PREFIX, "feature.node.kubernetes.io/", "topology.kubernetes.io/")


@dataclass(frozen=True, slots=True)
class Taint:
    """A node taint; prints as `key=value:effect`, as kubectl writes it."""

    key: str
    value: str
    effect: str

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}"


GPU_TAINT: Final = Taint(GPU_RESOURCE, "present", "NoSchedule")

# GPU feature discovery uses the full name for compute capability 8.9; all other families are one word.
_GFD_FAMILY: Final = {"ada": "ada-lovelace"}


def gfd_product(model: GpuModel, driver: DriverVersion) -> str:
    """Value of `nvidia.com/gpu.product`: this driver's name for the GPU, with dashes for blanks."""
    if driver.branch < FIRST_BRANCH_WITH_MAKER:
        return model.gfd_product.removeprefix("NVIDIA-")
    return model.gfd_product


def gfd_labels(model: GpuModel, gpus: int, driver: DriverVersion) -> dict[str, str]:
    """Labels that GPU feature discovery sets on a node with `gpus` GPUs of one model, not shared, without MIG.

    Memory is the nominal size: a real driver reports somewhat less. Raises `UnknownFact` for a driver
    that is older than any CUDA release in the tables.
    """
    cuda = native_cuda(driver)
    major, minor, revision = driver.parts
    words = {
        "cuda.driver-version.full": str(driver),
        "cuda.driver-version.major": major,
        "cuda.driver-version.minor": minor,
        "cuda.driver-version.revision": revision,
        "cuda.driver.major": major,  # deprecated, still set; so are the next two and cuda.runtime.*
        "cuda.driver.minor": minor,
        "cuda.driver.rev": revision,
        "cuda.runtime-version.full": str(cuda),
        "cuda.runtime-version.major": str(cuda.major),
        "cuda.runtime-version.minor": str(cuda.minor),
        "cuda.runtime.major": str(cuda.major),
        "cuda.runtime.minor": str(cuda.minor),
        "gpu.compute.major": str(model.compute_capability.major),
        "gpu.compute.minor": str(model.compute_capability.minor),
        "gpu.count": str(gpus),
        "gpu.family": _GFD_FAMILY.get(model.family, model.family),
        "gpu.memory": str(model.memory_mib),
        "gpu.mode": "compute",
        "gpu.product": gfd_product(model, driver),
        "gpu.replicas": "1",  # how many pods share one
        "gpu.sharing-strategy": "none",
        "mig.capable": "true" if model.mig_capable else "false",
    }
    return {NVIDIA_PREFIX + word: value for word, value in words.items()}


def reported_memory(model: GpuModel) -> range:
    """Possible values of `nvidia.com/gpu.memory`: NVML's figure, without what ECC and the driver reserve.

    A T4 reports 15109 of nominally 16384 MiB, an H100 81559 of 81920. Wide, as not all GPUs were measured.
    """
    return range(model.memory_mib * 7 // 8, model.memory_mib * 33 // 32 + 1)


def pool_labels(
    pool: str, driver: DriverVersion | str | None = None, container_toolkit: str | None = None
) -> dict[str, str]:
    """Labels that we set on a node of a pool: what the stack declares, not what the node reports.

    Nodes without GPUs have neither driver nor container toolkit.
    """
    found = {POOL: pool, DRIVER: driver, TOOLKIT: container_toolkit}
    return {key: str(value) for key, value in found.items() if value is not None}
