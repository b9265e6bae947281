"""R-COMPATHOOK: how the container toolkit treats an image's compat package."""

import re

from packaging.version import Version

from compat.evidence import compat_package
from compat.evidence.drivers import major_floor, native_floor, reaches
from compat.facts import tables
from compat.rules.rule import Rule
from compat.values.fact import Fact, Present
from compat.values.findings import Finding, Setting, Variable, note, refuse, unknown, warn
from compat.values.hosts import Platform, PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import CudaVersion, DriverVersion

ID = "R-COMPATHOOK"
_SOURCE = "github:NVIDIA/nvidia-container-toolkit CHANGELOG.md, cmd/nvidia-cdi-hook/cudacompat"
_NGC = "github:wimjan123/cuda11.7-gptj-training entrypoint.d/50-gpu-driver-check.sh (copy of NVIDIA's)"
_VLLM = "https://github.com/gpustack/gpustack/issues/4678"
_DATE = "2026-11-20"
_VLLM_SWITCH = "VLLM_ENABLE_CUDA_COMPATIBILITY"
_VLLM_SWITCHED = "https://github.com/vllm-project/vllm/pull/33992"
_SWITCH_DATE = "2026-11-23"
_ON_PATH = r"\bcompat\b(?!/lib)"  # NGC images name compat/lib, which their entrypoint creates if it helps
_CONTAINERS = frozenset({"docker", "kubernetes"})


def _next_with_compat(version: Version) -> Version:
    known = tables.container_toolkits()
    return next(each.version for each in known if each.version > version and each.compat_libraries != "ignored")


def _branch(cuda: CudaVersion, platform: Platform) -> int | None:
    found = native_floor(cuda.line, platform)
    return found[0].branch if found else None


def _put_first(image: ImageFacts, package: str, why: str) -> tuple[Finding, ...]:
    """The image puts, or may put, its package before the driver's own libraries, with an error as the result."""
    variables = dict(image.environment)
    path = variables.get("LD_LIBRARY_PATH", "")
    if re.search(_ON_PATH, path):
        text = "compat libraries that the loader finds first replace the driver's own"
        fact = Fact(text, compat_package.SOURCE, _DATE)
        without = ":".join(part for part in path.split(":") if "compat" not in part)
        fix = Variable("LD_LIBRARY_PATH", without)
        return (refuse(ID, f"the library path puts {package} before {why}", fact, fix),)
    if variables.get(_VLLM_SWITCH, "0").lower() in {"1", "true"}:
        fact = Fact("vLLM puts the compat folder first if that variable is 1", _VLLM_SWITCHED, _SWITCH_DATE)
        return (refuse(ID, f"{_VLLM_SWITCH} puts {package} before {why}", fact, Variable(_VLLM_SWITCH, "0")),)
    if image.compat_use != "first":
        return ()
    text = "the image's ld.so.conf names the compat folder, and some ways of starting the image reread it"
    fact = Fact(text, _VLLM, _DATE)
    return (warn(ID, f"the library path puts {package} before {why}", fact),)


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    cuda, driver = image.compat_line or image.cuda, pool.driver
    if cuda is None or driver is None or image.compat_package is not Present.YES:
        return ()
    package = compat_package.package_of(cuda)
    branch = _branch(cuda, pool.platform)
    if branch is None or pool.platform is not Platform.LINUX or driver.branch == branch:
        return ()
    if driver.branch > branch:
        return _put_first(image, package, f"driver {driver}, which is newer (error 803)")
    if pool.gpu.forward_compat is Present.NO:
        lacking = f"driver {driver}, which {pool.gpu.name} does not support (error 804)"
        if found := _put_first(image, package, lacking):
            return found
    return _by_toolkit(image, pool, driver, cuda, package) if pool.host in _CONTAINERS or not pool.host else ()


def _by_toolkit(
    image: ImageFacts, pool: PoolFacts, driver: DriverVersion, cuda: CudaVersion, package: str
) -> tuple[Finding, ...]:
    """A package newer than the driver, and the container toolkit's treatment of it."""
    if image.compat_use == "checked":
        fact = Fact("the entrypoint uses the compat package only if it works", _NGC, _DATE)
        return (note(ID, f"the image tries {package} when it starts, and runs without it if it does not work", fact),)
    if pool.gpu.forward_compat is Present.YES and (first := _put_first(image, package, "the driver")):
        message = f"the image puts {package} first: it is loaded whatever the container toolkit does"
        return (note(ID, message, first[0].fact),)
    loaded = image.cuda or cuda
    floor = major_floor(loaded)
    native = reaches(loaded, driver, pool.platform) is True
    needed = not native and (floor is None or driver < floor[0])
    toolkit = pool.container_toolkit
    if toolkit is not None and (row := tables.container_toolkit(toolkit)).compat_libraries == "ignored":
        text = f"container toolkit {row.version} does not use an image's compat libraries"
        fact = row.origin.fact(text, "compat_libraries")
        if needed and reaches(cuda, driver, pool.platform) is False:
            message = f"the image relies on {package}, which container toolkit {toolkit} does not load"
            newer = Setting("container_toolkit", _next_with_compat(row.version))
            return (refuse(ID, message, fact, newer),)
        return (note(ID, f"container toolkit {toolkit} does not load {package}", fact),)
    text = "container toolkits load the image's compat libraries instead of the driver's if they are of a newer major"
    fact = Fact(text, _SOURCE, _DATE)
    if pool.gpu.forward_compat is Present.NO and not needed:
        message = (
            f"the container toolkit loads the image's {package}, which is newer than driver {driver}: {pool.gpu.name} "
            f"does not support that (error 804), although CUDA {cuda} would run without it"
        )
        if not pool.host:
            return (warn(ID, message, fact),)
        return (refuse(ID, message, fact, Setting("cuda_compat", "no")),)
    if pool.gpu.forward_compat is Present.UNKNOWN and not needed and pool.host and pool.container_toolkit is not None:
        how = compat_package.whose_list(pool.gpu)
        message = (
            f"it is not known whether {pool.gpu.name} supports {package}, which the container toolkit loads: {how}"
        )
        return (unknown(ID, message, fact),)
    return ()


RULE = Rule(ID, check, sources=(_SOURCE, compat_package.SOURCE, _NGC, _VLLM, _VLLM_SWITCHED))
