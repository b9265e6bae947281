"""R-MINOR: inside one CUDA major, from 11 on, a driver at the floor of the major runs every minor."""

from __future__ import annotations

from compat.drivers import major_floor
from compat.model import Finding, ImageFacts, Platform, PoolFacts, Severity
from compat.rules.rule import Need, Rule, note, refuse, said
from compat.versions import CudaVersion, DriverVersion

ID = "R-MINOR"


def _check(cuda: CudaVersion, driver: DriverVersion, said: str, platform: Platform) -> tuple[Finding, ...]:
    found = major_floor(cuda, platform)
    if found is None:
        return ()
    floor, fact = found
    if driver >= floor:
        message = f"from driver {floor} on, every CUDA {cuda.major}.x runs that has code for the GPU"
        return (note(ID, message, fact),)
    message = f"CUDA {cuda} needs driver {floor} or newer" + (f"; this one is {said}" if said else "")
    return (refuse(ID, message, fact, floor),)


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if image.cuda is None or pool.driver is None or pool.platform is Platform.JETSON:
        return ()
    return _check(image.cuda, pool.driver, said(pool.driver), pool.platform)


RULE = Rule(
    id=ID,
    title="Minor-version compatibility",
    says=(
        "From CUDA 11 on, a program runs on any driver at or above the floor of its CUDA major "
        "(11.x 450.80.02, 12.x 525.60.13, 13.x 580.65.06), if it carries machine code for the GPU: PTX of a newer "
        "minor is refused by an older driver (R-PTX). CUDA 10 and older need the driver of that very toolkit (R-BACK)."
    ),
    sources=(
        "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html",
        "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html",
    ),
    severity=Severity.REFUSE,
    need=Need.CUDA,
    check=check,
    of_pool=("driver", "platform"),
    passing={"gpu": "A100", "driver": "525.105.17", "cuda": "12.4"},
    failing={"gpu": "A100", "driver": "450.51.06", "cuda": "11.8"},
    undecided={"gpu": "A100", "cuda": "12.4"},
)
