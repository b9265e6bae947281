"""R-FWD: a cuda-compat package runs a newer CUDA on an older driver, on some GPUs and some branches."""

from __future__ import annotations

from dataclasses import replace

from compat.evidence.drivers import first_release, reaches
from compat.facts import tables
from compat.rules.rule import Need, Rule, note, refuse, unknown, warn
from compat.values.model import Fact, Finding, ImageFacts, Platform, PoolFacts, Present, Severity
from compat.values.versions import CudaVersion

ID = "R-FWD"
SOURCE = "https://docs.nvidia.com/deploy/cuda-compatibility/forward-compatibility.html"
_DATE = "2026-11-20"
_UNLISTED = "https://github.com/vllm-project/vllm/pull/33992"  # cuda-compat-13-0 on 575, which no list has
_FIRST_ON_UNLISTED = 11  # the package of CUDA 10.0 ends in error 999 on 390 and 396
_FIRST_PACKAGE = 10  # there is no cuda-compat package before CUDA 10.0


def package_of(cuda: CudaVersion) -> str:
    """The name of the package in package managers."""
    return f"cuda-compat-{cuda.major}-{cuda.minor}"


def works(image: ImageFacts, pool: PoolFacts) -> bool:
    """Is a compat package in the image, and does it serve this GPU on this driver?"""
    return any(finding.severity in {Severity.NOTE, Severity.WARN} for finding in check(image, pool))


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    cuda, driver = image.compat_line or image.cuda, pool.driver
    if cuda is None or driver is None or pool.platform is Platform.JETSON or image.compat_package is Present.NO:
        return ()
    if reaches(cuda, driver, pool.platform) is not False or cuda.major < _FIRST_PACKAGE:
        return ()
    if image.cuda is not None and cuda.line < image.cuda.line:
        return ()  # the package in the image is older than the CUDA that the program brings
    package = package_of(cuda)
    if pool.gpu.forward_compat is Present.NO:
        fact = Fact("compat packages serve data-centre GPUs, some RTX cards and Jetson, never GeForce", SOURCE, _DATE)
        return (refuse(ID, f"{package} does not work on a {pool.gpu.name} (error 804)", fact),)
    if pool.host == "wsl" or pool.platform is Platform.WINDOWS:
        fact = Fact("compat packages are for Linux hosts", SOURCE, _DATE)
        return (refuse(ID, f"{package} does not work under Windows or WSL", fact),)
    if image.compat_package is Present.UNKNOWN:
        fact = Fact("whether the image has a compat package was not said", SOURCE, _DATE)
        return (unknown(ID, f"it is not known whether the image has {package}", fact),)
    if pool.gpu.forward_compat is Present.UNKNOWN:
        fact = Fact("of the RTX cards only selected, NGC-ready ones may use compat packages", SOURCE, _DATE)
        return (unknown(ID, f"it is not known whether {package} works on a {pool.gpu.name}", fact),)
    if driver.branch in image.compat_branches:
        fact = Fact(f"the image's notes name {driver.branch} as a host branch for its compat package", SOURCE, _DATE)
        return (note(ID, f"the image's {package} runs on driver {driver}", fact),)
    by_branch = tables.forward_compats().get(cuda.line, {})
    row = by_branch.get(driver.branch)
    if row is not None and row.works:
        fact = row.origin.fact(f"{package} works on host branch {driver.branch}", "works")
        return (note(ID, f"the image's {package} runs on driver {driver}", fact),)
    listed = sorted(branch for branch, each in by_branch.items() if each.works)
    where = ", ".join(map(str, listed)) or "no branch that the tables know"
    text = f"{package} works on host branches {where}"
    fact = row.origin.fact(text, "works") if row is not None else Fact(text, SOURCE, _DATE)
    if row is None and listed and driver.branch > listed[0] and cuda.major >= _FIRST_ON_UNLISTED:
        message = f"{package} is likely to run on driver {driver}, but NVIDIA supports it on host branches {where} only"
        return (warn(ID, message, replace(fact, source=f"{SOURCE} ; {_UNLISTED}")),)
    newer = [first_release(branch) for branch in listed if branch > driver.branch]
    return (refuse(ID, f"{package} is not for driver {driver}: {text}", fact, *newer[:1]),)


RULE = Rule(
    id=ID,
    title="Forward-compatibility packages",
    says=(
        "A cuda-compat-X-Y package inside the image brings the user-mode driver of a newer CUDA. It supports "
        "data-centre GPUs and selected RTX cards on listed host branches, never GeForce, and adds no GPU to a kernel "
        "driver. A branch that is not listed but newer than one that is gives a warning, from CUDA 11 on."
    ),
    sources=(SOURCE, _UNLISTED),
    severity=Severity.REFUSE,
    need=Need.CUDA,
    check=check,
    of_pool=("gpu", "driver", "platform", "host"),
    passing={"gpu": "A100", "driver": "535.129.03", "cuda": "13.0", "cuda_compat": "yes"},
    failing={"gpu": "RTX 3090", "driver": "535.129.03", "cuda": "13.0", "cuda_compat": "yes"},
    undecided={"gpu": "A100", "driver": "535.129.03", "cuda": "13.0", "cuda_compat": "unknown"},
)
