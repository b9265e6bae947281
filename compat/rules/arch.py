"""R-ARCH: is there machine code that this GPU runs?"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from compat.evidence.prose.build_words import of_this_build
from compat.evidence.prose.gpu_words import reason_against
from compat.evidence.prose.model_words import is_old_for, leaves_older_out
from compat.evidence.prose.patterns import pattern
from compat.facts import tables
from compat.rules.rule import Need, Rule, note, refuse, remarks_fact, unknown, warn
from compat.values.model import THE_CASE, Code, Fact, Finding, Gpu, ImageFacts, PoolFacts, Severity
from compat.values.targets import best_cubin, judged, listed, runs
from compat.values.versions import ComputeCapability, CudaVersion

ID = "R-ARCH"
_GUIDE = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility"
_CUPY = "https://github.com/cupy/cupy/issues/9121"
_NVRTC_MAKES_CUBINS = CudaVersion(11, 1)
# Programs that have NVRTC or nvcc compile for the GPU's own capability, and reports on compilers that do not know it.
_ASKS_FOR_THE_GPU = {
    "alphafold": "https://github.com/google-deepmind/alphafold/issues/786 ; "  # XLA and the toolkit of its Dockerfile
    "https://github.com/google-deepmind/alphafold/issues/764",
    "hashcat": "https://github.com/hashcat/hashcat/issues/3916 ; https://github.com/hashcat/hashcat/issues/2692",
    "openmm": "https://github.com/openmm/openmm/issues/1653",
    "pycuda": "https://github.com/inducer/pycuda/issues/134 ; https://github.com/inducer/pycuda/issues/440",
}

# Programs that hand PTX of their own compiler to the driver, or carry it: for them a newer GPU is no matter.
CARRIES_PTX = frozenset(
    {
        "candle",
        "cuda.jl",
        "cudanative.jl",
        "gpu-burn",
        "gpuburn",
        "ilgpu",
        "matlab",
        "mistral.rs",
        "mxnet",
        "numba",
        "nvrtc",
    }
    | {"taichi", "triton", "warp", "warplang"}
)
# Their makefiles add PTX for the newest of the targets: github:NVIDIA/cuda-samples.
_SAMPLES = frozenset({"cudasamples", "vectoradd", "nbody", "devicequery"})
_PUBLISHER = "nvcr.io/nvidia/"
SPEAKS_OF_PTX = pattern(r"\bptx\b|\bjit\b|\bcuda[ -]?samples?\b|\bat run ?time\b", re.IGNORECASE)
_RENAMED = {ComputeCapability(11, 0): ComputeCapability(10, 1)}  # Thor, in CUDA 13
_MANY = 10
_NO_IMAGE = (
    "https://github.com/mumax/3/issues/158 ; https://github.com/ethereum-mining/ethminer/issues/2074 ; "
    "https://github.com/CMU-Perceptual-Computing-Lab/openpose/issues/798 ; https://github.com/Emerge-Lab/gpudrive/issues/520"
)
_LONG = "https://github.com/microsoft/onnxruntime/issues/9990 ; https://github.com/tensorflow/tensorflow/issues/48069"
_COMPILES_BY_ITSELF = frozenset({"cupy", "jax", "mlx"})  # with NVRTC or XLA, which must know the GPU
_REJECTED = "https://github.com/taichi-dev/taichi/issues/1980"  # the behaviour of a compiler that does not know the GPU
_UNSUPPORTED = "https://github.com/flashlight/flashlight/issues/213 ; https://github.com/mumax/3/pull/310"
# The same in the words of a build.
# An extension of PyTorch is compiled for the GPU of the machine, which that nvcc must know.
_COMPILED_THERE = pattern(
    r"\b(?:compiled|built) on (?:the|this|that) (?:same )?(?:machine|host|node|device) (?:with|by) nvcc\b"
    r".*\b(?:py)?torch\b"
)
_BY_TORCH = "https://github.com/facebookresearch/detectron2/issues/272"
_COMPILES_AT_RUN_TIME = pattern(
    r"\bpycuda\b|\bnvcc (?:for the|at run ?time)|\bcompiles? (?:at run ?time|for the (?:gpu|card|device))"
    r"|\bcompiled at run ?time\b|\bat run ?time (?:by|with) (?:nvcc|nvrtc)\b"
)


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if image.gpu_free or image.is_of_driver:
        return ()
    gpu = pool.gpu
    code = judged(image.code, gpu.capability) if image.code else None
    if image.remarks and (reason := reason_against(image.remarks, gpu.capability)):
        return (refuse(ID, f"has no machine code for {gpu.name} ({gpu.capability}): {reason}", remarks_fact(image)),)
    if code is None and image.cuda is not None and _is_left_out(image, image.cuda, gpu):
        oldest = f"{gpu.name} ({gpu.capability}) is of the oldest generations that CUDA {image.cuda} makes code for"
        return (refuse(ID, f"{oldest}, and the build is said to leave older ones out", remarks_fact(image)),)
    if code is None:
        if image.cuda is not None:
            return _by_toolkit(image, image.cuda, gpu)
        fact = Fact("neither its CUDA nor its device code is known", THE_CASE, "")
        is_open = image.is_opaque and image.unknown_build is None  # otherwise the program has its own finding
        return (unknown(ID, f"it is not known what {image.opaque_name} contains", fact),) if is_open else ()
    if code.cubins is None and code.ptx is None and code.at_least is None:
        return (unknown(ID, f"it is not known which GPUs {image.opaque_name} has code for", code.fact),)
    if code.cubins is None and code.at_least is None and not code.ptx:
        return _by_toolkit(image, image.cuda, gpu) if image.cuda is not None else ()
    if code.at_least is not None and (code.cubins is None or gpu.capability < code.at_least):
        return _by_oldest(image, code, code.at_least, gpu)
    if (best := best_cubin(code, gpu.capability)) is not None:
        if (cannot := _never_compiled(image, code, gpu)) is not None:
            return (cannot,)
        message = f"has machine code sm_{best.capability.digits}{best.suffix}, which {gpu.name} ({gpu.capability}) runs"
        return (note(ID, message, code.fact),)
    if not code.fact.verified and (older := _by_older_compiler(image, gpu)) is not None:
        return (older,)
    message = f"has no machine code for {gpu.name} ({gpu.capability}); it has {listed(code.cubins or ())}"
    return (refuse(ID, message, code.fact),)


def _is_left_out(image: ImageFacts, cuda: CudaVersion, gpu: Gpu) -> bool:
    return is_old_for(gpu.capability, cuda) and leaves_older_out(of_this_build(image.remarks))


def _by_oldest(image: ImageFacts, code: Code, oldest: ComputeCapability, gpu: Gpu) -> tuple[Finding, ...]:
    """The project, or the case, states the oldest GPU; that promises nothing for GPUs newer than the compiler."""
    is_stated = code.fact.source == THE_CASE or code.cubins is not None
    if gpu.capability < oldest:
        message = f"built for compute capability {oldest} and newer; {gpu.name} has {gpu.capability}"
        return (refuse(ID, message, remarks_fact(image) if is_stated else code.fact),)
    if is_stated and image.cuda is not None:
        by_toolkit = _by_toolkit(replace(image, code=None), image.cuda, gpu)
        if by_toolkit[0].severity is not Severity.NOTE:
            return by_toolkit
    return (note(ID, f"built for compute capability {oldest} and newer", code.fact),)


def _by_older_compiler(image: ImageFacts, gpu: Gpu) -> Finding | None:
    """For targets from memory: a compiler that cannot generate code for the GPU still decides."""
    maker = image.built_with or image.cuda
    finding = _by_toolkit(replace(image, code=None), maker, gpu)[0] if maker is not None else None
    return finding if finding is not None and finding.severity is Severity.REFUSE else None


def _never_compiled(image: ImageFacts, code: Code, gpu: Gpu) -> Finding | None:
    """A user's own build for the GPU with a CUDA that knows none of the targets that the GPU runs: nvcc refuses."""
    if not image.own_build or image.cuda is None:
        return None
    fitting = [target for target in code.cubins or () if runs(target, gpu.capability)]
    known = [tables.architectures().get(target.capability) for target in fitting]
    if any(arch is None or arch.last_cuda is None or image.cuda.line <= arch.last_cuda for arch in known):
        return None
    last = max(arch.last_cuda for arch in known if arch is not None and arch.last_cuda is not None)
    origin = next(arch.origin for arch in known if arch is not None and arch.last_cuda == last)
    fact = origin.fact(f"CUDA {last} is the last that compiles for {listed(tuple(fitting))}", "last_cuda")
    message = (
        f"the compiler of CUDA {image.cuda} no longer knows {listed(tuple(fitting))} (nvcc fatal: Unsupported gpu "
        f"architecture), and nothing else of the build runs on {gpu.name}; that of CUDA {last} does"
    )
    fact = replace(fact, source=f"{fact.source} ; {_UNSUPPORTED}")
    return refuse(ID, message, fact) if fact.verified else unknown(ID, message, fact)


def _asks_for_the_gpu(image: ImageFacts) -> str:
    """The source that reports that a program compiles for the very GPU when it runs; empty where it does not."""
    words = image.remarks.lower()
    if _COMPILED_THERE.search(words):
        return _BY_TORCH
    named = next((each for each in _COMPILES_AT_RUN_TIME.findall(words)), "")
    return _ASKS_FOR_THE_GPU.get(image.framework, "") or (_ASKS_FOR_THE_GPU["pycuda"] if named else "")


def _by_its_own_compiler(image: ImageFacts, cuda: CudaVersion, gpu: Gpu) -> Finding | None:
    """A program that compiles for the very GPU when it runs, by a compiler that does not know it yet, or no longer."""
    source, exact = _asks_for_the_gpu(image), tables.architectures().get(gpu.capability)
    if not source or exact is None:
        return None
    older_name = tables.architectures().get(_RENAMED.get(gpu.capability, gpu.capability), exact)
    if exact.first_cuda is not None and older_name.first_cuda is not None and cuda.line < exact.first_cuda:
        if older_name.first_cuda <= cuda.line:
            fact = exact.origin.fact(
                f"{gpu.capability} is {older_name.capability} up to CUDA {older_name.last_cuda}", "notes"
            )
            message = f"the compiler of CUDA {cuda} knows {gpu.name} ({gpu.capability}) as {older_name.capability}"
            return note(ID, message, fact)
        known, column = exact.first_cuda, "first_cuda"
        which, why = "first", "does not know (invalid value for --gpu-architecture)"
    elif exact.last_cuda is not None and cuda.line > exact.last_cuda:
        known, column = exact.last_cuda, "last_cuda"
        which, why = "last", "no longer knows"
    else:
        return None
    fact = exact.origin.fact(f"the {which} CUDA that knows {gpu.capability} is {known}", column)
    message = (
        f"{image.framework} compiles for {gpu.name} ({gpu.capability}), which the compiler of CUDA {cuda} {why}; "
        f"that of CUDA {known} does"
    )
    fact = replace(fact, source=f"{fact.source} ; {source}")
    return refuse(ID, message, fact) if fact.verified else unknown(ID, message, fact)


def _by_toolkit(image: ImageFacts, cuda: CudaVersion, gpu: Gpu) -> tuple[Finding, ...]:
    """No list of targets: then the question is whether this toolkit can generate code that the GPU runs."""
    shown, capability = f"{gpu.name} ({gpu.capability}", gpu.capability
    if not image.gpu_free and (refused := _by_its_own_compiler(image, cuda, gpu)) is not None:
        return (refused,)
    for arch in tables.architectures().values():
        if arch.capability.major != capability.major or arch.capability > capability or arch.first_cuda is None:
            continue
        if arch.first_cuda <= cuda.line:
            text = f"CUDA {arch.first_cuda} and newer make code for sm_{arch.capability.digits}"
            return (note(ID, f"CUDA {cuda} generates code that {gpu.name} runs", arch.origin.fact(text, "first_cuda")),)
    own = tables.architectures().get(capability)
    if own is None or own.first_cuda is None:
        fact = Fact(f"no table has compute capability {capability}", _GUIDE, "", verified=False)
        return (unknown(ID, f"it is not known which CUDA generates code for {shown})", fact),)
    fact = own.origin.fact(f"the first CUDA with code for sm_{capability.digits} is {own.first_cuda}", "first_cuda")
    none = f"CUDA {cuda} generates no machine code for {shown}; CUDA {own.first_cuda} and newer do)"
    # CuPy makes machine code for the newest target that NVRTC knows, and from CUDA 11.1 on no PTX.
    if image.framework == "cupy" and image.code is None and cuda >= _NVRTC_MAKES_CUBINS and fact.verified:
        message = f"{none}; CuPy compiles its kernels with it (no binary for GPU)"
        return (refuse(ID, message, replace(fact, source=f"{fact.source} ; {_CUPY}")),)
    if fact.verified and _is_without_ptx(image):
        message = (
            f"{none}; nothing says that the build carries PTX, and those that do not stop with `no kernel image`: "
            "if it does, write ptx"
        )
        return (refuse(ID, message, replace(fact, source=f"{fact.source} ; {_NO_IMAGE}")),)
    if fact.verified and _is_with_ptx(image):
        message = (
            f"{none}; {image.framework} publishes its builds with PTX, which the driver compiles at the first start"
        )
        return (warn(ID, f"{message}: that may take half an hour", replace(fact, source=f"{fact.source} ; {_LONG}")),)
    return (unknown(ID, f"{none}, and it is not known whether the image carries PTX", fact),)


def _is_with_ptx(image: ImageFacts) -> bool:
    """Is it a published build of a project whose builds mostly carry PTX? Not where its own compiler decides."""
    if image.framework in _SAMPLES:
        return not image.own_build or image.name.startswith(_PUBLISHER)
    is_published = not image.own_build and (image.code is None or image.code.ptx is not None)
    return is_published and image.framework not in _COMPILES_BY_ITSELF and mostly_with_ptx(image.framework)


def _is_without_ptx(image: ImageFacts) -> bool:
    """May a program without known targets be taken for one without PTX?

    Of 14 public reports about such builds, 12 were of failures: projects list the GPUs of their time. Not where its
    published builds carry PTX, where it compiles when it runs, or where only a CUDA version is stated.
    """
    if image.code is not None and image.code.ptx is None and image.code.cubins is None:
        return False  # stated as unknown
    about = f"{image.name} {image.framework} {image.remarks}"
    if not (image.framework or image.remarks) or SPEAKS_OF_PTX.search(about):
        return False
    return not ({image.framework, image.program} & CARRIES_PTX or mostly_with_ptx(image.framework))


def _with_ptx(framework: str) -> list[bool]:
    """Of each build of a project with known PTX facts, whether it has PTX; those for Windows differ, and are few."""
    builds = (build for build in tables.builds(framework) if "windows" not in build.distribution)
    return [bool(build.ptx) for build in builds if build.ptx is not None]


@cache
def never_with_ptx(framework: str) -> bool:
    """Do the tables have many builds of a project with known PTX facts, of which hardly one has PTX?"""
    with_ptx = _with_ptx(framework)
    return len(with_ptx) >= _MANY and 4 * sum(with_ptx) < len(with_ptx)


@cache
def mostly_with_ptx(framework: str) -> bool:
    """Do most of a project's builds in the tables carry PTX?"""
    with_ptx = _with_ptx(framework)
    return 2 * sum(with_ptx) > len(with_ptx)


RULE = Rule(
    id=ID,
    title="Machine code for the GPU",
    says=(
        "Machine code (a cubin) for sm_XY runs on GPUs of the same major with an equal or higher minor; it never "
        "crosses a major. Code for a target with the suffix a runs only on that GPU, with f on its family. "
        "Without a list of targets, what the toolkit can generate counts: a program built by a CUDA that is older than "
        "the GPU is refused, unless something says that it carries PTX, because most such builds carry none; of a "
        "project that publishes its builds with PTX it is a warning. A CUDA version alone, with no program, stays "
        "undecided. What the words of a build say counts before all lists: "
        "that it has no code for the GPU, that its compiler (NVRTC, ptxas, LLVM) does not know it, or what the oldest "
        "and the newest GPUs are that it is for."
    ),
    sources=(_GUIDE, _REJECTED),
    severity=Severity.REFUSE,
    need=Need.CODE,
    check=check,
    of_pool=("gpu",),
    passing={"gpu": "A10G", "driver": "535.129.03", "cuda": "11.8", "sm_list": "7.0;8.0", "ptx": "none"},
    failing={"gpu": "RTX 5090", "driver": "570.124.06", "cuda": "12.4", "sm_list": "8.0;9.0", "ptx": "none"},
    undecided={"gpu": "RTX 5090", "driver": "570.124.06", "cuda": "12.4"},
)
