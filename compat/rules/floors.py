"""GPUs that a project states for a span of its releases: the lowest, the newest, or only those of a list."""

from __future__ import annotations

import re
from typing import NamedTuple

from packaging.version import Version

from compat.evidence.drivers import TURNS_AT
from compat.evidence.prose.parts import parts_named
from compat.evidence.prose.patterns import pattern
from compat.evidence.reading.builds import is_of_ones_own
from compat.evidence.reading.distributions import ALIASES
from compat.evidence.reading.names import UnknownGpu, find_gpus
from compat.facts import tables
from compat.facts.rows import FrameworkFloor
from compat.rules.rule import refuse, warn
from compat.values.model import Fact, Finding, GpuSpan, ImageFacts, Platform, PoolFacts
from compat.values.versions import ComputeCapability, JetsonVersion

RULE = "R-FRAMEWORK"
_DATE = "2026-11-24"
# NVIDIA's images by month: NVIDIA states the GPUs for all frameworks of a month together.
_OF_MONTH = pattern(r"(?:^|/)nvcr\.io/nvidia/(?P<framework>[a-z]+):(?P<month>\d\d\.\d\d)(?!.*igpu)")
_WITH_TRTLLM = pattern(r"(?:^|/)nvcr\.io/nvidia/tritonserver:\d\d\.\d\d-trtllm\b")
_SERVERS = frozenset({"inferenceserver", "tensorrtserver", "tritonserver"})  # its names over the years
_LISTS_ALONE = Version("0.30.0")  # the first such Ollama
_OLLAMA_SKIPS = (
    "github:ollama/ollama discover/llama_server.go (tag v0.30.0) ; https://github.com/ollama/ollama/issues/16620"
)
_OF_CUDA_13, _TURING = TURNS_AT["cuda.jl"], ComputeCapability(7, 5)
_FIRST_WITH_LIMIT, _KNOWS_CUDA_13 = Version("5.0"), Version("5.8.3")
_TAKES_CUDA_13, _ASKS_THE_GPU = Version("5.9"), Version("6.2")
_JULIA_12 = "https://github.com/JuliaGPU/CUDA.jl/issues/2896 ; https://github.com/JuliaGPU/CUDA.jl/issues/2850"
_JULIA_13 = "https://github.com/JuliaGPU/CUDA.jl/issues/3079 ; https://github.com/SciML/SciMLBenchmarks.jl/pull/1733"
_OF_ONES_OWN = pattern(r"\b(?:source|pull request|pr|branch|patch(?:ed)?)\b", re.IGNORECASE)
_ENGINE = pattern(
    r"\bengines?\b.{0,20}?\b(?:built|generated|created|made) (?:on|with|for) (?:an? |the )?(.+?)(?: with\b|[,;(]|$)",
    re.IGNORECASE,
)
_ENGINES = "https://docs.nvidia.com/deeplearning/tensorrt/latest/getting-started/support-matrix-10/10.10.0.html"
_FLASH_TARGETS = (
    "PyPI flash_attn-2.7.3.tar.gz (setup.py) ; https://docs.nvidia.com/cuda/cuda-for-tegra-appnote/index.html"
)
_FLASH_3, _THOR = Version("3.0"), ComputeCapability(11, 0)
_FROM_PYPI = pattern(r"\bpypi\b|\bpip install\b", re.IGNORECASE)
_ASKS_CUDART, _WITH_NVML = Version("0.1.30"), 36
_NVML = "https://github.com/ollama/ollama/issues/3098 ; https://github.com/ollama/ollama/pull/2279"
_IMPORT_TENSORRT, _WITH_PYTHON = frozenset({"torch2trt"}), 31
_PYTHON_OF_TENSORRT = Fact(
    "TensorRT of JetPack 3 has no Python module",
    "https://github.com/NVIDIA-AI-IOT/torch2trt/issues/45 ; https://github.com/onnx/onnx-tensorrt/issues/62",
    "2026-11-26",
)
_OLLAMA_ON_JETSON = (35, 36)  # L4T for which Ollama has runners of their own


class Release(NamedTuple):
    """A release of a framework, as far as floors need it."""

    framework: str
    version: Version | None
    build: str
    cuda_major: int
    text: str  # name and remarks
    own_build: bool
    shown: str = ""  # its name in messages, where that is not its key
    on_windows: bool = False


def of_month(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """GPUs that NVIDIA's images of a month are for; not where another framework was installed into one."""
    named = _OF_MONTH.search(image.name)
    if named is None or pool.platform is Platform.JETSON:
        return ()
    own = {named["framework"]} | (_SERVERS if named["framework"] in _SERVERS else set())
    if image.framework and not own & {image.framework, *(key for key, of in ALIASES.items() if of == image.framework)}:
        return ()
    shown = f"nvidia/{named['framework']}:{named['month']}"
    found: list[Finding] = []
    for key in ("ngc", f"ngc-{named['framework']}"):  # facts on all images of a month, and on this one
        release = Release(key, Version(named["month"]), "", 0, "", own_build=True, shown=shown)
        found += _findings(release, pool.gpu.capability, pool.gpu.name)
    return tuple(found)


def of_framework(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """GPUs that the release of the image's framework is for, and those of the parts that the case names."""
    major = image.cuda.major if image.cuda else 0
    text = f"{image.name} {image.remarks}"
    native = pool.platform is Platform.WINDOWS and pool.host != "wsl"
    of_nvidia = image.framework == "tensorrt-llm" and bool(_WITH_TRTLLM.search(image.name))
    release = Release(
        image.framework,
        image.framework_version,
        image.build,
        major,
        f"{text} {' '.join(f'{name}={value}' for name, value in image.environment)}",
        image.own_build or of_nvidia,  # statements on wheels do not count for what NVIDIA builds for its images
        on_windows=native,
    )
    inside = (*_of_tensorrt_inside(release, pool), *_of_attention_inside(release, pool))
    return (*_findings(release, pool.gpu.capability, pool.gpu.name), *inside)


_TENSORRT = pattern(r"\b(?:tensorrt|trt)[\s_=-]*v?(\d{1,2}\.\d+(?:\.\d+)*)", re.IGNORECASE)


def _of_tensorrt_inside(release: Release, pool: PoolFacts) -> tuple[Finding, ...]:
    """GPUs of the TensorRT that a program is built with: `KataGo 1.15.3 (trt8.6.1-cuda12.1)`."""
    named = _TENSORRT.search(release.text)
    if named is None or release.framework in {"tensorrt", "tensorflow", "pytorch", "onnxruntime", *_SERVERS}:
        return ()
    if pool.platform is Platform.JETSON:
        return ()
    inside = Release(
        "tensorrt", Version(named[1]), "", 0, "", own_build=True, shown=f"TensorRT {named[1]} of {release.framework}"
    )
    return _findings(inside, pool.gpu.capability, pool.gpu.name)


_FLASHINFER = pattern(r"\bflash-?infer(?:-python)?[\s_=:-]*v?(\d+\.\d+(?:\.\d+)?)", re.IGNORECASE)
_WITHOUT_IT = pattern(r"--(?:disable-flashinfer|attention-backend[= ](?!flashinfer))", re.IGNORECASE)


def _of_attention_inside(release: Release, pool: PoolFacts) -> tuple[Finding, ...]:
    """GPUs of the FlashInfer that SGLang runs with; SGLang uses it unless an option turns it off."""
    named = _FLASHINFER.search(release.text) if release.framework == "sglang" else None
    if named is None or _WITHOUT_IT.search(release.text):
        return ()
    inside = Release(
        "flashinfer",
        Version(named[1]),
        "",
        0,
        "",
        own_build=True,
        shown=f"FlashInfer {named[1]} of {release.framework}",
    )
    return _findings(inside, pool.gpu.capability, pool.gpu.name)


def of_engine(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """A TensorRT engine is for the architecture that built it, unless it was built to be compatible."""
    match = _ENGINE.search(image.remarks) if image.framework == "tensorrt" else None
    if match is None or "compatib" in image.remarks.lower():
        return ()
    try:
        models = find_gpus(match[1])
    except UnknownGpu:
        return ()
    if any(model.compute_capability == pool.gpu.capability for model in models):
        return ()
    fact = Fact("engines are not portable across GPU architectures without hardware compatibility", _ENGINES, _DATE)
    built_on = f"{match[1]} ({models[0].compute_capability})"
    message = f"the engine was built on {built_on}; {pool.gpu.name} has {pool.gpu.capability}"
    return (refuse(RULE, message, fact),)


def of_tegra(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """FlashAttention from PyPI is compiled for a list of server GPUs, whatever GPU is there; old Ollama needs NVML."""
    if image.framework == "ollama" and pool.jetson is not None:
        return _of_old_ollama(image, pool.jetson)
    if image.framework in _IMPORT_TENSORRT and pool.jetson is not None and pool.jetson.release < _WITH_PYTHON:
        message = f"{_PYTHON_OF_TENSORRT.text}; L4T {pool.jetson} has none, and {image.framework} imports it"
        return (refuse(RULE, message, _PYTHON_OF_TENSORRT),)
    if image.framework != "flash-attn" or pool.platform is not Platform.JETSON or image.code is not None:
        return ()
    version = image.framework_version
    is_of_list = bool(_FROM_PYPI.search(image.remarks)) and (version is None or version < _FLASH_3)
    if not is_of_list or pool.gpu.capability >= _THOR:
        return ()
    fact = Fact("setup.py makes machine code for server GPUs, and no PTX; Tegra runs none of it", _FLASH_TARGETS, _DATE)
    return (
        refuse(RULE, f"flash-attn from PyPI has no machine code for {pool.gpu.name} ({pool.gpu.capability})", fact),
    )


def _of_old_ollama(image: ImageFacts, jetson: JetsonVersion) -> tuple[Finding, ...]:
    """Before 0.1.30 Ollama looked for GPUs by a library that came to Jetson with JetPack 6."""
    version = image.framework_version
    if version is None or version >= _ASKS_CUDART or jetson.release >= _WITH_NVML or is_of_ones_own(image.remarks):
        return ()
    fact = Fact("JetPack before 6 has no libnvidia-ml, by which Ollama before 0.1.30 finds GPUs", _NVML, "2026-11-26")
    return (refuse(RULE, f"{fact.text}: Ollama {version} stays on the CPU", fact),)


def of_listed(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """Ollama skips a GPU whose very capability is not among its targets, whatever code would run there."""
    version, code = image.framework_version, image.code
    if image.framework != "ollama" or version is None or version < _LISTS_ALONE or code is None or not code.cubins:
        return ()
    if not code.fact.verified or _OF_ONES_OWN.search(image.remarks):
        return ()
    if pool.jetson is not None and pool.jetson.release in _OLLAMA_ON_JETSON:
        return ()
    listed = sorted({target.capability for target in (*code.cubins, *(code.ptx or ()))})
    if pool.gpu.capability in listed:
        return ()
    fact = Fact("compute capability not in compiled architectures", _OLLAMA_SKIPS, "2026-11-23")
    message = (
        f"Ollama {version} skips GPUs whose compute capability is not itself among its targets, even where its code "
        f"would run: {pool.gpu.name} has {pool.gpu.capability}, and it lists {', '.join(map(str, listed))}"
    )
    return (refuse(RULE, message, fact),)


def of_julia(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    """CUDA.jl picks its toolkit by the driver: releases that know no CUDA 13, or that take it for older GPUs too."""
    version, driver = image.framework_version, pool.driver
    if image.framework != "cuda.jl" or version is None or driver is None or driver.branch < _OF_CUDA_13:
        return ()
    if _FIRST_WITH_LIMIT <= version < _KNOWS_CUDA_13:
        fact = Fact("releases before 5.8.3 support drivers for CUDA 11 and 12 only", _JULIA_12, "2026-11-23")
        return (refuse(RULE, f"CUDA.jl {version} does not start with driver {driver}, which brings CUDA 13", fact),)
    if _TAKES_CUDA_13 <= version < _ASKS_THE_GPU and pool.gpu.capability < _TURING:
        fact = Fact(
            "releases from 5.9 to 6.1 take CUDA 13 with drivers of it, whatever the GPU is", _JULIA_13, "2026-11-23"
        )
        message = f"CUDA.jl {version} picks CUDA 13 with driver {driver}, and CUDA 13 has no code for {pool.gpu.name}"
        return (refuse(RULE, message, fact),)
    return ()


def _findings(release: Release, gpu: ComputeCapability, gpu_name: str) -> tuple[Finding, ...]:
    found = []
    for floor in _floors_of(release):
        if gpu >= floor.capability and (floor.highest is None or gpu <= floor.highest):
            continue
        shown = release.shown or (f"{floor.framework} {release.version}" if release.version else floor.framework)
        fact = floor.origin.fact(f"{shown}: {floor.reason}", "cc_min", "cc_max", "from_version", "to_version")
        span = f"{floor.capability} to {floor.highest}" if floor.highest else f"{floor.capability}"
        message = f"{shown} requires compute capability {span} ({floor.reason}); {gpu_name} has {gpu}"
        if floor.severity == "refuse":
            found.append(refuse(RULE, message, fact, GpuSpan(floor.capability, floor.highest)))
        else:
            found.append(warn(RULE, message, fact))
    return tuple(found)


def _floors_of(release: Release) -> list[FrameworkFloor]:
    framework, version, major = release.framework, release.version, release.cuda_major
    keys = [framework, f"{framework}[cu{major}]", f"{framework}[cuda{major}]", f"{framework}-cuda{major}x"]
    keys += [f"{framework}[windows]"] * release.on_windows
    keys += parts_named(framework, f"{release.text} {release.build}")
    rows = [row for key in keys for row in tables.framework_floors().get(key, ())]
    rows = [row for row in rows if not (row.of_wheels and release.own_build)]
    if version is None:
        return [row for row in rows if row.before is None and row.first == Version("0")]
    return [row for row in rows if row.first <= version and (row.before is None or version < row.before)]
