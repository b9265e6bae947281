"""R-ARCH: machine code that this GPU can run."""

from dataclasses import replace

from compat.facts import tables
from compat.rules.rule import Need, Rule
from compat.values.fact import THE_CASE, Fact
from compat.values.findings import Finding, Severity, note, refuse, unknown, warn
from compat.values.hosts import Gpu, PoolFacts
from compat.values.images import Code, ImageFacts, best_cubin, judged
from compat.values.versions import ComputeCapability, CudaVersion, listed, runs

ID = "R-ARCH"
_GUIDE = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#binary-compatibility"
_CUPY = "https://github.com/cupy/cupy/issues/9121"
_NVRTC_MAKES_CUBINS = CudaVersion(11, 1)
# Programs that compile with NVRTC or nvcc for the GPU's own capability, and reports on compilers that lack it.
_ASKS_FOR_THE_GPU = {
    "alphafold": "https://github.com/google-deepmind/alphafold/issues/786 ; "  # XLA and the toolkit of its Dockerfile
    "https://github.com/google-deepmind/alphafold/issues/764",
    "hashcat": "https://github.com/hashcat/hashcat/issues/3916 ; https://github.com/hashcat/hashcat/issues/2692",
    "nvrtc": "https://docs.nvidia.com/cuda/nvrtc/index.html#supported-compile-options",
    "openmm": "https://github.com/openmm/openmm/issues/1653",
    "pycuda": "https://github.com/inducer/pycuda/issues/134 ; https://github.com/inducer/pycuda/issues/440",
}
# Their makefiles add PTX for the newest of the targets.
_SAMPLES = frozenset({"cudasamples", "vectoradd", "nbody", "devicequery"})
_MAKEFILES = "github:NVIDIA/cuda-samples"
_UNSUPPORTED = "https://github.com/flashlight/flashlight/issues/213 ; https://github.com/mumax/3/pull/310"
_READ = "gpu-commons inspect --deep reads it"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    if image.gpu_free:
        return ()
    gpu = pool.gpu
    code = judged(image.code, gpu.capability) if image.code else None
    if code is None:
        if image.cuda is not None:
            return _by_toolkit(image, image.cuda, gpu)
        fact = Fact("neither its CUDA nor its device code is known", THE_CASE, "")
        is_open = image.is_opaque and not image.is_unlisted  # otherwise another rule reports the program
        return (unknown(ID, f"it is not known what {image.opaque_name} contains: {_READ}", fact),) if is_open else ()
    if code.cubins is None and code.ptx is None and code.at_least is None:
        return (unknown(ID, f"it is not known which GPUs {image.opaque_name} has code for: {_READ}", code.fact),)
    if code.cubins is None and code.at_least is None and not code.ptx:
        return _by_toolkit(image, image.cuda, gpu) if image.cuda is not None else ()
    if code.cubins is None and code.at_least is not None:
        return (_by_oldest(code, code.at_least, gpu),)
    if (best := best_cubin(code, gpu.capability)) is not None:
        if (cannot := _never_compiled(image, code, gpu)) is not None:
            return (cannot,)
        message = f"has machine code sm_{best.capability.digits}{best.suffix}, which {gpu.name} ({gpu.capability}) runs"
        return (note(ID, message, code.fact),)
    if not code.fact.verified and (older := _by_older_compiler(image, gpu)) is not None:
        return (older,)
    message = f"has no machine code for {gpu.name} ({gpu.capability}); it has {listed(code.cubins or ())}"
    return (refuse(ID, message, code.fact),)


def _by_oldest(code: Code, oldest: ComputeCapability, gpu: Gpu) -> Finding:
    """The project states the oldest GPU instead of a list of targets."""
    built = f"built for compute capability {oldest} and newer"
    if gpu.capability < oldest:
        return refuse(ID, f"{built}; {gpu.name} has {gpu.capability}", code.fact)
    return note(ID, built, code.fact)


def _by_older_compiler(image: ImageFacts, gpu: Gpu) -> Finding | None:
    """For targets from memory: a compiler without support for the GPU still decides."""
    maker = image.built_with or image.cuda
    finding = _by_toolkit(replace(image, code=None), maker, gpu)[0] if maker is not None else None
    return finding if finding is not None and finding.severity.rank > Severity.WARN.rank else None


def _never_compiled(image: ImageFacts, code: Code, gpu: Gpu) -> Finding | None:
    """A user's own build with a CUDA that knows none of the targets that the GPU runs: nvcc refuses."""
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


def _by_its_own_compiler(image: ImageFacts, cuda: CudaVersion, gpu: Gpu) -> Finding | None:
    """A program that compiles for its GPU at run time, with a compiler that does not, or no longer, support it."""
    source, exact = _ASKS_FOR_THE_GPU.get(image.framework), tables.architectures().get(gpu.capability)
    if source is None or exact is None:
        return None
    if exact.first_cuda is not None and cuda.line < exact.first_cuda:
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
    """No list of targets: check whether this toolkit can generate code that the GPU runs."""
    shown, capability = f"{gpu.name} ({gpu.capability}", gpu.capability
    if (refused := _by_its_own_compiler(image, cuda, gpu)) is not None:
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
        return (
            unknown(
                ID,
                f"it is not known which CUDA generates code for {shown}): gpu-commons facts gpu_arch lists what is",
                fact,
            ),
        )
    fact = own.origin.fact(f"the first CUDA with code for sm_{capability.digits} is {own.first_cuda}", "first_cuda")
    none = f"CUDA {cuda} generates no machine code for {shown}; CUDA {own.first_cuda} and newer do)"
    # CuPy generates machine code for the newest target that NVRTC knows, and from CUDA 11.1 on no PTX.
    if image.framework == "cupy" and image.code is None and cuda >= _NVRTC_MAKES_CUBINS and fact.verified:
        message = f"{none}; CuPy compiles its kernels with it (no binary for GPU)"
        return (refuse(ID, message, replace(fact, source=f"{fact.source} ; {_CUPY}")),)
    if image.framework in _SAMPLES:
        message = f"{none}; the samples carry PTX, which the driver compiles at the first start"
        return (warn(ID, message, replace(fact, source=f"{fact.source} ; {_MAKEFILES}")),)
    if image.code is not None and image.code.ptx == ():
        return (refuse(ID, f"{none}, and there is no PTX", fact) if fact.verified else unknown(ID, none, fact),)
    return (unknown(ID, f"{none}, and it is not known whether the image carries PTX: {_READ}", fact),)


RULE = Rule(ID, check, sources=(_GUIDE, _CUPY, _MAKEFILES), need=Need.CODE)
