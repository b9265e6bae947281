"""R-FRAMEWORK: a framework project's statements on its builds: GPUs, drivers, systems, libraries around it."""

from __future__ import annotations

import re

from packaging.version import Version

from compat.evidence.prose.build_words import required_driver
from compat.facts import tables
from compat.facts.rows import FrameworkLibrary
from compat.rules import floors, program_floors
from compat.rules.rule import Rule, note, refuse, remarks_fact, warn
from compat.values.model import THE_CASE, Fact, Finding, GpuSpan, ImageFacts, Platform, PoolFacts, Setting, Severity

ID = floors.RULE
_DATE = "2026-11-21"
_TF_WINDOWS = "https://www.tensorflow.org/install/pip#windows-native"
_JAX_PLATFORMS = "https://docs.jax.dev/en/latest/installation.html"
_VLLM = "https://docs.vllm.ai/en/latest/getting_started/installation/gpu.html"
# "CuDNN library needs to have matching major version and equal or higher minor version": TensorFlow, and XLA in JAX.
# Source: https://github.com/tensorflow/tensorflow/issues/60913
_ASKS_FOR_MINOR = frozenset({"tensorflow", "jax"})
# Programs that check the driver's version when they start, and do not use an older one.
# Source: https://github.com/ollama/ollama/issues/17290
_CHECKS_THE_DRIVER = frozenset({"ollama"})
_LAST_TF_ON_WINDOWS, _NEEDS_UVA = Version("2.11"), Version("0.24")
_UVA = "https://github.com/vllm-project/vllm/issues/47387 ; https://github.com/vllm-project/vllm/issues/54652"


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
    found += floors.of_month(image, pool)
    if not image.framework:
        return tuple(found)
    found += floors.of_framework(image, pool)
    found += program_floors.of_program(image, pool)
    found += floors.of_listed(image, pool)
    found += floors.of_julia(image, pool)
    found += floors.of_engine(image, pool)
    found += floors.of_tegra(image, pool)
    found += _system(image, pool)
    found += _libraries_around(image)
    found += _c_library(image, pool)
    return tuple(found)


NO_GPU_USE = (
    "nothing in the image uses a GPU, so it runs with any GPU and driver; it is not known what is installed on top of "
    "it or while it runs"
)


def for_cpu(builds: str) -> str:
    """The message for an image whose frameworks are builds for the CPU."""
    return f"{builds}: built for the CPU only; the image runs anywhere, and uses no GPU"


def _system(image: ImageFacts, pool: PoolFacts) -> list[Finding]:
    native = pool.platform is Platform.WINDOWS and pool.host != "wsl"
    version = image.framework_version
    if image.framework == "tensorflow" and native and (version is None or version >= _LAST_TF_ON_WINDOWS):
        fact = Fact("TensorFlow 2.10 was the last release with GPU support on native Windows", _TF_WINDOWS, _DATE)
        return [
            refuse(ID, f"TensorFlow {version or ''} does not support CUDA on native Windows; use WSL, or 2.10", fact)
        ]
    if image.framework in {"jax", "vllm", "rapids"} and native:
        source = {"jax": _JAX_PLATFORMS, "vllm": _VLLM}.get(image.framework, "https://docs.rapids.ai/install/")
        fact = Fact(f"{image.framework} has no CUDA builds for native Windows", source, _DATE)
        message = f"{image.framework} does not use the GPU on native Windows; use WSL"
        return [refuse(ID, message, fact, Setting("host", "wsl"))]
    if image.framework == "vllm" and pool.host == "wsl" and version is not None and version >= _NEEDS_UVA:
        return _uva(image)
    if image.framework == "jax" and pool.host == "wsl":
        fact = Fact("JAX calls CUDA under WSL2 experimental", _JAX_PLATFORMS, _DATE)
        return [warn(ID, "JAX calls its support for CUDA under WSL2 experimental", fact)]
    return []


def _uva(image: ImageFacts) -> list[Finding]:
    """The second model runner of vLLM, used for most models, needs pinned memory, which is off under WSL."""
    variables = {name.upper(): value for name, value in image.environment}
    if variables.get("VLLM_WSL2_ENABLE_PIN_MEMORY") == "1" or variables.get("VLLM_USE_V2_MODEL_RUNNER") == "0":
        return []
    fact = Fact("vLLM takes no pinned memory under WSL unless it is asked to", _UVA, "2026-11-26")
    message = (
        f"vLLM {image.framework_version} does not start under WSL with most models (UVA is not available), unless "
        "VLLM_WSL2_ENABLE_PIN_MEMORY=1 or VLLM_USE_V2_MODEL_RUNNER=0 is set"
    )
    return [warn(ID, message, fact)]  # no source lists which models


def _stated_driver(image: ImageFacts, pool: PoolFacts) -> list[Finding]:
    floor = image.stated_driver
    if floor is None or pool.driver is None or pool.driver >= floor or pool.platform is Platform.JETSON:
        return []
    if image.remarks and required_driver(image.remarks) == floor:
        return [refuse(ID, f"it needs driver {floor} or newer; this one is {pool.driver}", remarks_fact(image), floor)]
    if pool.platform is not Platform.LINUX:
        return []
    fact = image.cuda_fact or Fact(f"{image.framework} asks for driver {floor}", "framework.csv", _DATE)
    message = (
        f"{image.framework} {image.framework_version or ''} requires driver {floor} or newer; this one is {pool.driver}"
    )
    return [refuse(ID, message, fact, floor) if image.framework in _CHECKS_THE_DRIVER else warn(ID, message, fact)]


def _libraries_around(image: ImageFacts) -> list[Finding]:
    """A build that loads CUDA from the image needs libraries of its own major there."""
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
    """XLA and TensorFlow require the major that they were built with, and at least that minor; others the major."""
    if image.cudnn is None or image.framework_version is None or image.own_build:
        return []
    row = _cudnn(image.framework, image.framework_version, image.build, image.cuda.major if image.cuda else 0)
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
    """Wheels name the oldest C library that they load on, for each processor."""
    have = image.glibc or (pool.glibc if pool.host in {"bare", "wsl"} else None)
    if have is None or image.framework_version is None or image.own_build:
        return []
    processor = "aarch64" if pool.cpu_architecture == "arm64" else "x86_64"
    row = _newest_glibc(image.framework, image.framework_version, processor, image.cuda.major if image.cuda else 0)
    if row is None or have >= Version(row.minimum):
        return []
    fact = row.origin.fact(f"wheels of {row.framework} {row.version} need glibc {row.minimum}", "minimum")
    message = f"{image.framework} {image.framework_version} needs glibc {row.minimum}; the image has {have}"
    return [refuse(ID, message, fact, Setting("image_glibc", row.minimum))]


def _newest_glibc(framework: str, version: Version, processor: str, cuda_major: int) -> FrameworkLibrary | None:
    """The row with the newest C library: of the framework, or of what it installs for a CUDA (`jax[cuda12]`)."""
    rows = [
        row
        for name in (framework, f"{framework}[cuda{cuda_major}]")
        for row in _libraries(name, version, "glibc")
        if row.variant in {"", processor} and re.fullmatch(r"\d+\.\d+", row.minimum)
    ]
    return max(rows, key=lambda row: Version(row.minimum), default=None)


def _cudnn(framework: str, version: Version, build: str, cuda_major: int) -> FrameworkLibrary | None:
    """The row for this version, of this build if there are several, else of a build for this CUDA."""
    fitting = {row.variant: row for row in reversed(_libraries(framework, version, "cudnn"))}
    named = (fitting[name] for name in (build, f"cuda{cuda_major}", *reversed(fitting)) if name in fitting)
    return next(named, None)


def _libraries(framework: str, version: Version, library: str) -> list[FrameworkLibrary]:
    rows = tables.framework_libraries().get(framework, ())
    return [row for row in rows if row.library == library and row.is_for(version)]


RULE = Rule(
    id=ID,
    title="Framework builds",
    says=(
        "A framework build uses the CUDA it was made for: a wheel brings its own, and that one counts, not the "
        "image's. Projects state the lowest GPU, the systems and the drivers of their releases; builds that load "
        "CUDA from the image need libraries of their own major there, TensorFlow and JAX a cuDNN of an equal or higher "
        "minor too; a build for the CPU uses no GPU. Of some programs the table `program` has spans of releases: "
        "the GPUs and the drivers that they are for, and the CUDA that they bring."
    ),
    sources=(
        "https://pytorch.org/get-started/previous-versions/",
        "github:tensorflow/docs site/en/install/source.md",
        _JAX_PLATFORMS,
    ),
    severity=Severity.REFUSE,
    check=check,
    of_pool=("gpu", "driver", "platform", "host", "glibc", "cpu_architecture", "jetson"),
    passing={
        "gpu": "L40S",
        "driver": "550.90.07",
        "cuda": "12.3",
        "framework": "flash-attn",
        "framework_version": "2.6.3",
    },
    failing={
        "gpu": "T4",
        "driver": "535.104.05",
        "cuda": "12.1",
        "framework": "flash-attn",
        "framework_version": "2.4.2",
    },
    undecided={
        "gpu": "T4",
        "driver": "535.104.05",
        "framework": "a-framework-nobody-knows",
        "framework_version": "1.0",
    },
)
