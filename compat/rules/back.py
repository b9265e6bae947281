"""R-BACK: a newer driver runs what was built with an older CUDA."""

from __future__ import annotations

from functools import lru_cache

from compat import tables
from compat.model import Fact, Finding, ImageFacts, Platform, PoolFacts, Severity
from compat.rules.minor import major_floor
from compat.rules.rule import Need, Rule, note, refuse, said, unknown
from compat.versions import CudaVersion, DriverVersion

ID = "R-BACK"
_SOURCE = "https://docs.nvidia.com/deploy/cuda-compatibility/"


@lru_cache(4096)
def native_floor(cuda: CudaVersion, platform: Platform) -> tuple[DriverVersion, Fact] | None:
    """Driver that brings this CUDA line, or this very release, by itself; None where no table says.

    A line stands for its first release. Source: CUDA release notes, table of toolkits and drivers. From CUDA 13 on no
    toolkit brings a driver for Windows: there the branch counts that reports the line.
    """
    releases = tables.toolkits_of(cuda.line)
    known = [(each, *tables.floor_of(each, platform)) for each in releases]
    stated = [(each, floor, column) for each, floor, column in known if floor is not None]
    if not stated:
        return _windows_floor(cuda) if platform is Platform.WINDOWS else None
    # A release that is not in the tables asks for no more than the one before it.
    older = [row for row in stated if row[0].version <= cuda] if cuda.patch else []
    toolkit, floor, column = older[-1] if older else stated[0]
    text = f"CUDA {toolkit.version} comes with driver {floor}"
    return floor, toolkit.origin.fact(text, column)


def _windows_floor(cuda: CudaVersion) -> tuple[DriverVersion, Fact] | None:
    branch = min(
        (each.branch for each in tables.driver_branches().values() if each.native_cuda == cuda.line), default=0
    )
    if not branch:
        return None
    lowest = [tables.minor_floor_of(each, Platform.WINDOWS)[0] for each in tables.toolkits_of(cuda.line)]
    floor = next((each for each in lowest if each and each.branch == branch), DriverVersion.start_of(branch))
    row = tables.driver_branches()[branch]
    return floor, row.origin.fact(f"driver branch {branch} brings CUDA {cuda.line}", "native_cuda")


def reaches(cuda: CudaVersion, driver: DriverVersion, platform: Platform) -> bool | None:
    """Does the driver know this CUDA line by itself, PTX of its compiler included? None: no table says."""
    found = native_floor(cuda.line, platform)
    if found is None:
        return True if driver.branch > tables.newest_branch() and cuda.major < 14 else None
    return driver >= found[0]


def _check(cuda: CudaVersion, driver: DriverVersion, said: str, platform: Platform) -> tuple[Finding, ...]:
    found = native_floor(cuda, platform)
    if found is None:
        fact = Fact(f"no table has a driver for CUDA {cuda} on {platform}", _SOURCE, "", verified=False)
        return (unknown(ID, f"it is not known which driver CUDA {cuda} asks for", fact),)
    floor, fact = found
    if driver >= floor:
        return (note(ID, f"from driver {floor} on, CUDA {cuda} runs by itself", fact),)
    if major_floor(cuda, platform) is not None:
        return ()  # R-MINOR says what is lacking
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
        "A newer driver runs programs built with any older CUDA toolkit, as long as it still knows the GPU. "
        "There is no upper limit on the driver's side."
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
