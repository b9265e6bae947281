"""R-COMPATHOOK: what the container toolkit does with the compat package of an image."""

from __future__ import annotations

import re

from packaging.version import Version

from components.compat.model import Change, Fact, Finding, ImageFacts, Platform, PoolFacts, Present, Severity
from components.compat.rules import fwd
from components.compat.rules.back import native_floor, reaches
from components.compat.rules.minor import major_floor
from components.compat.rules.rule import Rule, note, refuse, unknown, warn
from components.compat.versions import CudaVersion

ID = "R-COMPATHOOK"
_SOURCE = "github:NVIDIA/nvidia-container-toolkit CHANGELOG.md, cmd/nvidia-cdi-hook/cudacompat"
_DATE = "2026-11-20"
_WITHOUT = Version("1.17.4")  # this one release leaves compat libraries of images alone
_CONTAINERS = frozenset({"docker", "kubernetes"})


def _branch(cuda: CudaVersion, platform: Platform) -> int | None:
    found = native_floor(cuda.line, platform)
    return found[0].branch if found else None


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    cuda, driver = image.compat_line or image.cuda, pool.driver
    if cuda is None or driver is None or image.compat_package is not Present.YES or pool.platform is not Platform.LINUX:
        return ()
    package = f"cuda-compat-{cuda.major}-{cuda.minor}"
    branch = _branch(cuda, pool.platform)
    if branch is None:
        return ()
    path = dict(image.environment).get("LD_LIBRARY_PATH", "")
    if driver.branch >= branch:
        first = "compat" in path or re.search(r"ld\.so\.conf.*compat", image.remarks)
        if first and driver.branch > branch:
            fact = Fact("a compat package older than the host's driver must not be loaded", fwd.SOURCE, _DATE)
            message = f"the library path puts {package} before driver {driver}, which is newer (error 803)"
            return (refuse(ID, message, fact, Change("env", path, "LD_LIBRARY_PATH without the compat folder")),)
        return ()
    if pool.host not in _CONTAINERS and pool.host:
        return ()
    loaded = image.cuda or cuda
    floor = major_floor(loaded, pool.platform)
    native = reaches(loaded, driver, pool.platform) is True
    needed = not native and (floor is None or driver < floor[0])
    if pool.container_toolkit == _WITHOUT:
        fact = Fact("container toolkit 1.17.4 does not use the compat libraries of an image", _SOURCE, _DATE)
        if needed and reaches(cuda, driver, pool.platform) is False:
            to = Change("container_toolkit", "1.17.4", "1.17.5")
            return (
                refuse(ID, f"the image relies on {package}, which container toolkit 1.17.4 leaves alone", fact, to),
            )
        return (note(ID, f"container toolkit 1.17.4 leaves {package} alone", fact),)
    fact = Fact(
        "container toolkits put the image's compat libraries before the driver's when they are of a newer major",
        _SOURCE,
        _DATE,
    )
    if pool.gpu.forward_compat is Present.NO and not needed:
        message = (
            f"{package} of the image is newer than driver {driver}, and the container toolkit loads it: "
            f"{pool.gpu.name} does not support that (error 804), although CUDA {cuda} itself would run"
        )
        if not pool.host:
            return (warn(ID, message, fact, Change("cuda_compat", "yes", "no")),)
        return (refuse(ID, message, fact, Change("cuda_compat", "yes", "no")),)
    if pool.gpu.forward_compat is Present.UNKNOWN and not needed and pool.host and pool.container_toolkit is not None:
        return (unknown(ID, f"it is not known whether {pool.gpu.name} bears {package}, which the toolkit loads", fact),)
    return ()


RULE = Rule(
    id=ID,
    title="Container toolkit and compat packages",
    says=(
        "Container toolkits load the compat libraries of an image when they are newer than the host's driver: up to "
        "1.17.3 by mounting them, from 1.17.5 on by a hook; 1.17.4 does neither. On a GeForce that ends in error 804 "
        "even where minor-version compatibility would have run the program."
    ),
    sources=(_SOURCE, fwd.SOURCE),
    severity=Severity.REFUSE,
    check=check,
    reads=("compat_package",),
    passing={
        "gpu": "L4",
        "driver": "535.230.02",
        "cuda": "12.4",
        "cuda_compat": "yes",
        "host": "docker",
        "container_toolkit": "1.17.4",
    },
    failing={
        "gpu": "L4",
        "driver": "535.230.02",
        "cuda": "13.0",
        "cuda_compat": "yes",
        "host": "docker",
        "container_toolkit": "1.17.4",
    },
    undecided={
        "gpu": "RTX A6000",
        "driver": "535.230.02",
        "cuda": "12.4",
        "cuda_compat": "yes",
        "host": "docker",
        "container_toolkit": "1.17.8",
    },
)
