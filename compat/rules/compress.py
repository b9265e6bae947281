"""R-COMPRESS: device code that zstd compresses is unpacked by the driver, from the one of CUDA 12.4 on."""

from __future__ import annotations

from compat.drivers import UNPACKS_ZSTD, native_floor
from compat.model import Compressed, Fact, Finding, ImageFacts, Platform, PoolFacts, Severity
from compat.rules import fwd
from compat.rules.arch import best_cubin, compiles, judged
from compat.rules.rule import Rule, note, refuse, warn
from compat.versions import DriverVersion, Target

ID = "R-COMPRESS"
_NVCC = "https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/index.html#compress-mode-default-size-speed-balance-none-compress-mode"
_OLLAMA = "https://github.com/ollama/ollama/pull/12258"
_PYTORCH = "https://github.com/pytorch/pytorch/pull/161316"
_DATE = "2026-11-23"
_READ = "read the files with gpu-commons inspect --deep"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    found = native_floor(UNPACKS_ZSTD, pool.platform)
    if found is None or image.gpu_free or pool.driver is None or pool.platform is Platform.JETSON:
        return ()
    first, _ = found
    if pool.driver >= first:
        return ()
    if fwd.works(image, pool):
        return ()  # the package's own libcuda unpacks it
    if image.compressed is None:
        return _unread(image, pool.driver, first) if image.may_be_compressed else ()
    loaded = _loaded(image, image.compressed, pool)
    if loaded is None:
        return (note(ID, "the code that this GPU loads is not compressed by zstd", image.compressed.fact),)
    message = (
        f"{loaded} is compressed by zstd: drivers before {first} do not unpack it (device kernel image is invalid)"
    )
    return (refuse(ID, message, image.compressed.fact, first),)


def _unread(image: ImageFacts, driver: DriverVersion, first: DriverVersion) -> tuple[Finding, ...]:
    maker = image.built_with or image.cuda
    fact = Fact("nvcc 12.8 and newer compress device code by zstd with --compress-mode=size or balance", _NVCC, _DATE)
    message = (
        f"CUDA {maker} can compress device code so that drivers before {first} (here {driver}) do not unpack it, and "
        f"whether that was done is not known: {_READ}"
    )
    return (warn(ID, message, fact),)


def _loaded(image: ImageFacts, compressed: Compressed, pool: PoolFacts) -> str | None:
    """The code that the GPU loads, if it is compressed: machine code where there is some, else PTX."""
    capability = pool.gpu.capability
    code = judged(image.code, capability) if image.code else None
    if code is None or (code.cubins is None and code.ptx is None):
        everything = compressed.cubins is None or compressed.ptx is None
        return "its device code" if everything or (compressed.cubins and compressed.ptx) else None
    if (best := best_cubin(code, capability)) is not None:
        is_in = compressed.cubins is None or best in compressed.cubins
        return f"machine code {_named('sm', best)}" if is_in else None
    fitting = [target for target in code.ptx or () if compiles(target, capability)]
    if fitting and (compressed.ptx is None or max(fitting) in compressed.ptx):
        return f"PTX {_named('compute', max(fitting))}"
    return None


def _named(kind: str, target: Target) -> str:
    return f"{kind}_{target.capability.digits}{target.suffix}"


RULE = Rule(
    id=ID,
    title="Compressed device code",
    says=(
        "nvcc 12.8 and newer can compress device code by zstd (--compress-mode=size or balance; balance is the default "
        "of CUDA 13, speed that of CUDA 12). Drivers before 550.54.14 do not unpack such code, whatever their CUDA: "
        "programs fail with `device kernel image is invalid`. The binary tells whether it is so; where nobody read "
        "it, the rule warns."
    ),
    sources=(_NVCC, _OLLAMA, _PYTORCH),
    severity=Severity.REFUSE,
    check=check,
    of_pool=("gpu", "driver", "platform", "host"),
    passing={"gpu": "A100", "driver": "535.183.01", "cuda": "12.8", "sm_list": "8.0", "compressed": "none"},
    failing={"gpu": "A100", "driver": "535.183.01", "cuda": "12.8", "sm_list": "8.0", "compressed": "sm_80"},
    undecided={"gpu": "A100", "cuda": "12.8", "sm_list": "8.0", "compressed": "sm_80"},
)
