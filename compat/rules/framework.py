"""R-FRAMEWORK: a framework project's requirements for its builds: GPUs, drivers, systems, libraries."""

import re

from packaging.version import Version

from compat.evidence import project_floors
from compat.evidence.drivers import TURNS_AT
from compat.facts import tables
from compat.facts.rows import FrameworkLibrary
from compat.rules.rule import Rule
from compat.values.fact import THE_CASE, Fact
from compat.values.findings import Finding, GpuSpan, Setting, note, refuse, unknown, warn
from compat.values.hosts import Platform, PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import ComputeCapability

ID = "R-FRAMEWORK"
_DATE = "2026-11-21"
# "CuDNN library needs to have matching major version and equal or higher minor version": TensorFlow, and XLA in JAX.
# Source: https://github.com/tensorflow/tensorflow/issues/60913
_ASKS_FOR_MINOR = frozenset({"tensorflow", "jax"})
# Programs that check the driver's version at start, and refuse an older one.
# Source: https://github.com/ollama/ollama/issues/17290
_CHECKS_THE_DRIVER = frozenset({"ollama"})
_LISTS_ALONE = Version("0.30.0")  # the first such Ollama
_OLLAMA_SKIPS = (
    "github:ollama/ollama discover/llama_server.go (tag v0.30.0) ; https://github.com/ollama/ollama/issues/16620"
)
_OF_CUDA_13, _TURING = TURNS_AT["cuda.jl"], ComputeCapability(7, 5)
_FIRST_WITH_LIMIT, _KNOWS_CUDA_13 = Version("5.0"), Version("5.8.3")
_TAKES_CUDA_13, _ASKS_THE_GPU = Version("5.9"), Version("6.2")
_JULIA_12 = "https://github.com/JuliaGPU/CUDA.jl/issues/2896 ; https://github.com/JuliaGPU/CUDA.jl/issues/2850"
_JULIA_13 = "https://github.com/JuliaGPU/CUDA.jl/issues/3079 ; https://github.com/SciML/SciMLBenchmarks.jl/pull/1733"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if image.gpu_free:
        fact = image.cuda_fact or Fact("a build without CUDA", THE_CASE, "")
        shown = " ".join(filter(None, (image.framework, str(image.framework_version or "")))) or image.name
        if image.is_whole:
            for_gpus_elsewhere = image.framework or image.build == "cpu"
            return (warn(ID, for_cpu(shown), fact) if for_gpus_elsewhere else note(ID, NO_GPU_USE, fact),)
        return (refuse(ID, f"{shown} is built for the CPU only: it does not use the GPU", fact),)
    found = _stated_driver(image, pool)
    if image.lowest_capability is not None and pool.gpu.capability < image.lowest_capability:
        fact = (image.code.fact if image.code else image.cuda_fact) or Fact(image.name, "the image's notes", "")
        asks = f"{image.name} requires compute capability {image.lowest_capability}"
        message = f"{asks}; {pool.gpu.name} has {pool.gpu.capability}"
        found.append(refuse(ID, message, fact, GpuSpan(image.lowest_capability)))
    unmet = [*project_floors.of_month(image, pool.gpu.capability, pool.gpu.name)]
    if image.framework:
        unmet += project_floors.of_framework(image, pool.gpu.capability, pool.gpu.name)
    found += [
        refuse(ID, each.message, each.fact, each.span) if each.refuses else warn(ID, each.message, each.fact)
        for each in unmet
    ]
    if image.is_unlisted:
        found.append(_unlisted(image))
    if image.framework:
        found += (*_ollama(image, pool), *_julia(image, pool), *_libraries_around(image), *_c_library(image, pool))
    return tuple(found)


def _unlisted(image: ImageFacts) -> Finding:
    """The tables have no build of the framework, and its CUDA is not stated."""
    shown = f"{image.framework} {image.framework_version}" if image.framework_version else image.framework
    fact = Fact(f"no table has builds of {shown}", "framework.csv", "", verified=False)
    how = "state cuda, or read the image with gpu-commons inspect --deep"
    return unknown(ID, f"it is not known which CUDA {shown} is built for: {how}", fact)


NO_GPU_USE = (
    "nothing in the image uses a GPU, so it runs with any GPU and driver; it is not known what is installed on top of "
    "it or while it runs"
)


def for_cpu(builds: str) -> str:
    """The message for an image with CPU builds of its frameworks."""
    return f"{builds}: built for the CPU only; the image runs anywhere, and uses no GPU"


def _stated_driver(image: ImageFacts, pool: PoolFacts) -> list[Finding]:
    floor = image.stated_driver
    if floor is None or pool.driver is None or pool.driver >= floor or pool.platform is not Platform.LINUX:
        return []
    fact = image.cuda_fact or Fact(f"{image.framework} asks for driver {floor}", "framework.csv", _DATE)
    message = (
        f"{image.framework} {image.framework_version or ''} requires driver {floor} or newer; this one is {pool.driver}"
    )
    return [refuse(ID, message, fact, floor) if image.framework in _CHECKS_THE_DRIVER else warn(ID, message, fact)]


def _ollama(image: ImageFacts, pool: PoolFacts) -> list[Finding]:
    """Ollama skips a GPU if its exact capability is not a target, whatever code would run there."""
    version, code = image.framework_version, image.code
    if image.framework != "ollama" or version is None or version < _LISTS_ALONE or code is None or not code.cubins:
        return []
    targets = sorted({target.capability for target in (*code.cubins, *(code.ptx or ()))})
    if not code.fact.verified or pool.gpu.capability in targets:
        return []
    fact = Fact("compute capability not in compiled architectures", _OLLAMA_SKIPS, "2026-11-23")
    message = (
        f"Ollama {version} skips GPUs whose compute capability is not itself among its targets, even where its code "
        f"would run: {pool.gpu.name} has {pool.gpu.capability}, and it lists {', '.join(map(str, targets))}"
    )
    return [refuse(ID, message, fact)]


def _julia(image: ImageFacts, pool: PoolFacts) -> list[Finding]:
    """CUDA.jl picks its toolkit by the driver: releases without CUDA 13, or that also use it for older GPUs."""
    version, driver = image.framework_version, pool.driver
    if image.framework != "cuda.jl" or version is None or driver is None or driver.branch < _OF_CUDA_13:
        return []
    if _FIRST_WITH_LIMIT <= version < _KNOWS_CUDA_13:
        fact = Fact("releases before 5.8.3 support drivers for CUDA 11 and 12 only", _JULIA_12, "2026-11-23")
        return [refuse(ID, f"CUDA.jl {version} does not start with driver {driver}, which brings CUDA 13", fact)]
    if _TAKES_CUDA_13 <= version < _ASKS_THE_GPU and pool.gpu.capability < _TURING:
        text = "releases from 5.9 to 6.1 take CUDA 13 with drivers of it, whatever the GPU is"
        message = f"CUDA.jl {version} picks CUDA 13 with driver {driver}, and CUDA 13 has no code for {pool.gpu.name}"
        return [refuse(ID, message, Fact(text, _JULIA_13, "2026-11-23"))]
    return []


def _libraries_around(image: ImageFacts) -> list[Finding]:
    """A build that loads CUDA from the image needs libraries of its own major."""
    if image.carries_cuda or image.built_with is None:
        return []
    if image.system_cuda is None:
        return _cudnn_around(image)
    own, around = image.built_with, image.system_cuda
    strict = own.major < 11  # before CUDA 11 the libraries are named after the minor
    if own.major != around.major or (strict and own.minor != around.minor):
        fact = image.cuda_fact or Fact(f"built for CUDA {own}", "framework.csv", _DATE)
        message = (
            f"{image.framework} {image.framework_version or ''} is built for CUDA {own.line} and loads its libraries "
            f"from the image, which has CUDA {around.line}: it does not find them and stays on the CPU"
        )
        return [refuse(ID, message, fact)]
    return _cudnn_around(image)


def _cudnn_around(image: ImageFacts) -> list[Finding]:
    """XLA and TensorFlow require the major they were built with, and at least that minor; others the major."""
    if image.cudnn is None or image.framework_version is None or image.own_build:
        return []
    row = cudnn_of(image.framework, image.framework_version, image.build, image.cuda.major if image.cuda else 0)
    wanted = re.match(r"\d+(\.\d+)*", row.minimum) if row else None
    if row is None or wanted is None:
        return []
    minimum = Version(wanted[0])
    shown = f"{image.framework} {image.framework_version}"
    fact = row.origin.fact(f"{row.framework} {row.version} is built with cuDNN {row.minimum}", "minimum")
    if image.cudnn.major != minimum.major:
        return [refuse(ID, f"{shown} loads cuDNN {minimum.major}; the image has cuDNN {image.cudnn}", fact)]
    if len(image.cudnn.release) >= 2 and image.cudnn < Version(".".join(map(str, minimum.release[:2]))):
        message = f"{shown} was built with cuDNN {minimum}; the image has the older {image.cudnn}"
        if image.framework in _ASKS_FOR_MINOR:
            return [refuse(ID, f"{message}, but it requires an equal or higher minor", fact)]
        return [warn(ID, message, fact)]
    return []


def _c_library(image: ImageFacts, pool: PoolFacts) -> list[Finding]:
    """Wheels name the oldest C library they work with, for each processor."""
    have = image.glibc or (pool.glibc if pool.host == "bare" else None)
    if have is None or image.framework_version is None or image.own_build:
        return []
    processor = "aarch64" if pool.cpu_architecture == "arm64" else "x86_64"
    row = newest_glibc(image.framework, image.framework_version, processor, image.cuda.major if image.cuda else 0)
    if row is None or have >= Version(row.minimum):
        return []
    fact = row.origin.fact(f"wheels of {row.framework} {row.version} need glibc {row.minimum}", "minimum")
    message = f"{image.framework} {image.framework_version} needs glibc {row.minimum}; the image has {have}"
    return [refuse(ID, message, fact, Setting("image_glibc", row.minimum))]


RULE = Rule(
    ID,
    check,
    sources=(
        "https://pytorch.org/get-started/previous-versions/",
        "github:tensorflow/docs site/en/install/source.md",
        "https://docs.jax.dev/en/latest/installation.html",
    ),
)


def newest_glibc(framework: str, version: Version, processor: str, cuda_major: int) -> FrameworkLibrary | None:
    """The row with the newest C library: of the framework, or of its packages for a CUDA (`jax[cuda12]`)."""
    rows = [
        row
        for name in (framework, f"{framework}[cuda{cuda_major}]")
        for row in _libraries(name, version, "glibc")
        if row.variant in {"", processor} and re.fullmatch(r"\d+\.\d+", row.minimum)
    ]
    return max(rows, key=lambda row: Version(row.minimum), default=None)


def cudnn_of(framework: str, version: Version, build: str, cuda_major: int) -> FrameworkLibrary | None:
    """The row for this version, of this build if there are several, else of a build for this CUDA."""
    fitting = {row.variant: row for row in reversed(_libraries(framework, version, "cudnn"))}
    named = (fitting[name] for name in (build, f"cuda{cuda_major}", *reversed(fitting)) if name in fitting)
    return next(named, None)


def _libraries(framework: str, version: Version, library: str) -> list[FrameworkLibrary]:
    rows = tables.framework_libraries().get(framework, ())
    return [row for row in rows if row.library == library and row.is_for(version)]
