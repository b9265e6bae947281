"""R-MINOR: inside one CUDA major, from 11 on, a driver at the floor of the major runs every minor."""

from __future__ import annotations

from functools import lru_cache

from components.compat import tables
from components.compat.model import Change, Fact, Finding, ImageFacts, Platform, PoolFacts, Severity
from components.compat.rules.back import native_floor
from components.compat.rules.rule import Need, Rule, note, refuse
from components.compat.versions import CudaVersion, DriverVersion

ID = "R-MINOR"


@lru_cache(4096)
def major_floor(cuda: CudaVersion, platform: Platform) -> tuple[DriverVersion, Fact] | None:
    """Lowest driver for programs of this major; None before CUDA 11 and where no table says.

    Source: CUDA release notes, table of minor version compatibility.
    """
    for toolkit in tables.toolkits():
        if toolkit.version.major != cuda.major or toolkit.minor_floor is None:
            continue
        floor, column = toolkit.minor_floor, "minor_compat_min_driver"
        if platform is Platform.WINDOWS:
            if toolkit.minor_windows_floor is None:
                continue
            floor, column = toolkit.minor_windows_floor, "minor_compat_min_windows_driver"
        return floor, toolkit.origin.fact(f"CUDA {cuda.major}.x runs on drivers from {floor} on", column)
    return None


@lru_cache(8192)
def _check(cuda: CudaVersion, driver: DriverVersion, platform: Platform) -> tuple[Finding, ...]:
    found = major_floor(cuda, platform)
    if found is not None:
        floor, fact = found
        if driver >= floor:
            message = f"driver {driver} runs every CUDA {cuda.major}.x that has code for the GPU (from {floor} on)"
            return (note(ID, message, fact),)
        message = f"CUDA {cuda} needs driver {floor} or newer; this one is {driver}"
        return (refuse(ID, message, fact, Change("driver", str(driver), str(floor))),)
    exact = native_floor(cuda, platform)
    if cuda.major >= 11 or exact is None or driver >= exact[0]:
        return ()
    floor, fact = exact
    message = (
        f"CUDA {cuda} needs driver {floor} or newer; this one is {driver}. "
        "Before CUDA 11 there is no minor-version compatibility"
    )
    return (refuse(ID, message, fact, Change("driver", str(driver), str(floor))),)


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if image.cuda is None or pool.driver is None or pool.platform is Platform.JETSON:
        return ()
    return _check(image.cuda, pool.driver, pool.platform)


RULE = Rule(
    id=ID,
    title="Minor-version compatibility",
    says=(
        "From CUDA 11 on, a program runs on any driver at or above the floor of its CUDA major "
        "(11.x 450.80.02, 12.x 525.60.13, 13.x 580.65.06), if it carries machine code for the GPU: PTX of a newer "
        "minor is refused by an older driver (R-PTX). CUDA 10 and older need the driver of that very toolkit."
    ),
    sources=(
        "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html",
        "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
    ),
    severity=Severity.REFUSE,
    need=Need.CUDA,
    check=check,
    passing={"gpu": "A100", "driver": "525.105.17", "cuda": "12.4"},
    failing={"gpu": "GTX 1080 Ti", "driver": "418.88", "cuda": "10.2"},
    undecided={"gpu": "A100", "cuda": "12.4"},
)
