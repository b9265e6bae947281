"""R-COMPRESS: drivers unpack device code compressed by zstd from that of CUDA 12.4 on."""

from dataclasses import dataclass

from compat.evidence import compat_package
from compat.evidence.drivers import UNPACKS_ZSTD, native_floor
from compat.rules.rule import Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, note, refuse, warn
from compat.values.hosts import PoolFacts
from compat.values.images import Code, Compressed, ImageFacts, best_cubin, judged
from compat.values.versions import ComputeCapability, DriverVersion, Target, compiles

ID = "R-COMPRESS"
_NVCC = "https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/index.html#compress-mode-default-size-speed-balance-none-compress-mode"
_OLLAMA = "https://github.com/ollama/ollama/pull/12258"
_RAPIDS = "https://docs.rapids.ai/api/rapids-cmake/stable/command/rapids_cuda_enable_fatbin_compression"
_LLAMA = "https://github.com/ggml-org/llama.cpp/pull/12029"
_MLX = "github:ml-explore/mlx docs/src/install.rst"
_PYTORCH = "https://github.com/pytorch/pytorch/pull/161316"
_OF_GGML = frozenset({"llama.cpp", "llamacpp", "whisper.cpp", "whispercpp", "ggml"})
_DATE = "2026-11-23"
_READ = "read the files with gpu-commons inspect --deep"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    found = native_floor(UNPACKS_ZSTD, pool.platform)
    if found is None or image.gpu_free or pool.driver is None:
        return ()
    first, _ = found
    if pool.driver >= first or compat_package.works(image, pool):  # the package's own libcuda unpacks it
        return ()
    if image.compressed is None:
        return _unread(image, pool.driver, first) if image.may_be_compressed else ()
    loaded = seen_in(image.code, image.compressed, pool.gpu.capability)
    if loaded is None:
        return (note(ID, "the code that this GPU loads is not compressed by zstd", image.compressed.fact),)
    message = f"{loaded.code} is compressed by zstd: drivers before {first} do not unpack it"
    if not loaded.is_sure:
        return (warn(ID, f"{message}, and whether this GPU loads other code is not known: {_READ}", loaded.fact),)
    return (refuse(ID, f"{message} (device kernel image is invalid)", loaded.fact, first),)


def _unread(image: ImageFacts, driver: DriverVersion, first: DriverVersion) -> tuple[Finding, ...]:
    maker = image.built_with or image.cuda
    if image.framework in _OF_GGML:
        by_default = Fact("ggml compresses its device code for size unless told otherwise", _LLAMA, _DATE)
        message = (
            f"{image.framework} compresses its device code by zstd if CUDA {maker} builds it: drivers before {first} "
            f"(here {driver}) do not unpack it (device kernel image is invalid)"
        )
        return (refuse(ID, message, by_default, first),)
    fact = Fact("nvcc 12.8 and newer compress device code by zstd with --compress-mode=size or balance", _NVCC, _DATE)
    message = (
        f"CUDA {maker} can compress device code so that drivers before {first} (here {driver}) do not unpack it, and "
        f"whether that was done is not known: {_READ}"
    )
    return (warn(ID, message, fact),)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Code compressed by zstd that a GPU loads, or may load if that is not certain."""

    code: str
    fact: Fact
    is_sure: bool = True


def seen_in(code: Code | None, compressed: Compressed, gpu: ComputeCapability) -> Loaded | None:
    """The code that a GPU loads, if zstd compresses it: machine code if there is any, else PTX.

    If the targets are not known, it loads compressed machine code for exactly this GPU.
    """
    known = judged(code, gpu) if code is not None else None
    is_listed = known is not None and (known.cubins is not None or known.ptx is not None)
    if known is None or not is_listed:
        if compressed.cubins is None or compressed.ptx is None:
            return Loaded("its device code", compressed.fact)
        known = Code(compressed.cubins, compressed.ptx, compressed.fact)
    if (best := best_cubin(known, gpu)) is not None:
        is_in = compressed.cubins is None or best in compressed.cubins
        name = f"machine code {_named('sm', best)}"
        return Loaded(name, compressed.fact, is_listed or best.capability == gpu) if is_in else None
    best = max((target for target in known.ptx or () if compiles(target, gpu)), default=None)
    if best is not None and (compressed.ptx is None or best in compressed.ptx):
        return Loaded(f"PTX {_named('compute', best)}", compressed.fact, is_listed)
    return None


def _named(kind: str, target: Target) -> str:
    return f"{kind}_{target.capability.digits}{target.suffix}"


RULE = Rule(ID, check, sources=(_NVCC, _RAPIDS, _LLAMA, _OLLAMA, _PYTORCH, _MLX))
