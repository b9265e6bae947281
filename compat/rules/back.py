"""R-BACK: a newer driver runs what was built with an older CUDA."""

from __future__ import annotations

from compat.drivers import major_floor, native_floor
from compat.model import Fact, Finding, ImageFacts, Platform, PoolFacts, Severity
from compat.rules.rule import Need, Rule, note, refuse, said, unknown
from compat.versions import CudaVersion, DriverVersion

ID = "R-BACK"
_SOURCE = "https://docs.nvidia.com/deploy/cuda-compatibility/"


def _check(cuda: CudaVersion, driver: DriverVersion, said: str, platform: Platform) -> tuple[Finding, ...]:
    found = native_floor(cuda, platform)
    if found is None:
        fact = Fact(f"no table lists a driver for CUDA {cuda} on {platform}", _SOURCE, "", verified=False)
        return (unknown(ID, f"it is not known which driver CUDA {cuda} needs", fact),)
    floor, fact = found
    if driver >= floor:
        return (note(ID, f"drivers from {floor} on support CUDA {cuda} natively", fact),)
    if major_floor(cuda, platform) is not None:
        return ()  # R-MINOR says what is missing
    message = (
        f"CUDA {cuda} needs driver {floor} or newer"
        + (f"; this one is {said}" if said else "")
        + (". Before CUDA 11 there is no minor-version compatibility" if cuda.major < 11 else "")
    )
    return (refuse(ID, message, fact, floor),)


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if image.cuda is None or pool.driver is None or pool.platform is Platform.JETSON:
        return ()
    return _check(image.cuda, pool.driver, said(pool.driver), pool.platform)


RULE = Rule(
    id=ID,
    title="Backward compatibility",
    says=(
        "A newer driver runs programs built with any older CUDA toolkit, as long as it still supports the GPU. "
        "No driver is too new for a toolkit."
    ),
    sources=(
        "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html",
        _SOURCE,
    ),
    severity=Severity.REFUSE,
    need=Need.CUDA,
    check=check,
    of_pool=("driver", "platform"),
    passing={"gpu": "Tesla T4", "driver": "580.95.05", "cuda": "11.8"},
    failing={"gpu": "GTX 1080 Ti", "driver": "418.88", "cuda": "10.2"},
    undecided={"gpu": "Tesla T4", "cuda": "10.2"},
)
