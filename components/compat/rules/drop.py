"""R-DROP: drivers and toolkits that do not know the GPU, any more or yet."""

from __future__ import annotations

from functools import lru_cache

from components.compat import tables
from components.compat.model import Change, Fact, Finding, ImageFacts, Platform, PoolFacts, Severity
from components.compat.rules.arch import best_cubin
from components.compat.rules.rule import Rule, refuse, unknown, warn
from components.compat.versions import ComputeCapability, CudaVersion, DriverVersion

ID = "R-DROP"
_MATRIX = "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    found: tuple[Finding, ...] = ()
    if pool.driver is not None and pool.platform is not Platform.JETSON:
        found += _driver(pool.driver, pool.gpu.capability, pool.gpu.name, pool.platform)
    maker = image.built_with or image.cuda
    if maker is not None and not image.gpu_free and not _has_code(image, pool):
        found += _toolkit(maker, pool.gpu.capability, pool.gpu.name)
    return found


def _has_code(image: ImageFacts, pool: PoolFacts) -> bool:
    """Is there machine code all the same? Then somebody linked it in, and what the toolkit makes does not matter."""
    return image.code is not None and best_cubin(image.code, pool.gpu.capability) is not None


@lru_cache(8192)
def _driver(driver: DriverVersion, gpu: ComputeCapability, name: str, platform: Platform) -> tuple[Finding, ...]:
    arch = tables.architectures().get(gpu)
    newest = tables.newest_branch()
    if arch is None:
        fact = Fact(f"no table has compute capability {gpu}", _MATRIX, "", verified=False)
        return (unknown(ID, f"it is not known which drivers drive {name} ({gpu})", fact),)
    if arch.last_branch is not None and driver.branch > _last(arch.last_branch, platform):
        text = f"the last driver branch for {arch.name} ({gpu}) is {arch.last_branch}"
        to = Change("driver", str(driver), str(arch.last_branch))
        message = f"driver {driver} no longer drives {name}: {text}"
        return (refuse(ID, message, arch.origin.fact(text, "last_driver_branch"), to),)
    if arch.first_branch is not None and driver.branch < arch.first_branch and platform is not Platform.WINDOWS:
        text = f"the first driver branch for {arch.name} ({gpu}) is {arch.first_branch}"
        to = Change("driver", str(driver), str(tables.first_release(arch.first_branch)))
        message = f"driver {driver} does not know {name} yet: {text}"
        return (refuse(ID, message, arch.origin.fact(text, "first_driver_branch"), to),)
    if driver.branch > newest:
        fact = Fact(f"the newest driver branch of the tables is {newest}", _MATRIX, "2026-11-20")
        return (warn(ID, f"driver {driver} is newer than the tables: what it dropped is not known here", fact),)
    return ()


def _last(branch: int, platform: Platform) -> int:
    if platform is not Platform.WINDOWS:
        return branch
    # Windows counts on inside a branch (R470: 471 to 474): everything before the next branch belongs to it.
    return min((other for other in tables.driver_branches() if other > branch), default=branch + 1) - 1


@lru_cache(4096)
def _toolkit(cuda: CudaVersion, gpu: ComputeCapability, name: str) -> tuple[Finding, ...]:
    arch = tables.architectures().get(gpu)
    if arch is None or arch.last_cuda is None or cuda.line <= arch.last_cuda:
        return ()
    text = f"the last CUDA with code for {arch.name} ({gpu}) is {arch.last_cuda}"
    message = f"CUDA {cuda} no longer makes code for {name}: {text}"
    to = Change("cuda", str(cuda), str(arch.last_cuda))
    return (refuse(ID, message, arch.origin.fact(text, "last_cuda"), to),)


RULE = Rule(
    id=ID,
    title="Dropped and not yet known GPUs",
    says=(
        "A driver drives a GPU from its first branch to its last (Fermi 390, Kepler 470, Maxwell, Pascal and Volta "
        "580), and a toolkit makes code for it from its first line to its last (CUDA 13 left Maxwell, Pascal and Volta)."  # noqa: E501
    ),
    sources=(_MATRIX, "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html"),
    severity=Severity.REFUSE,
    check=check,
    passing={"gpu": "V100", "driver": "580.95.05", "cuda": "12.4"},
    failing={"gpu": "V100", "driver": "595.71.05", "cuda": "12.4"},
    undecided={"compute_capability": "99.0", "driver": "580.95.05", "cuda": "12.4"},
)
