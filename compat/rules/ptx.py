"""R-PTX: a driver compiles PTX that it knows for any equal or newer GPU."""

from compat.evidence import compat_package
from compat.evidence.drivers import native_floor, reaches
from compat.rules.rule import Need, Rule
from compat.values.fact import Fact
from compat.values.findings import Finding, refuse, unknown, warn
from compat.values.hosts import Gpu, PoolFacts
from compat.values.images import Code, ImageFacts, best_cubin, judged
from compat.values.versions import compiles

ID = "R-PTX"
_GUIDE = "https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#ptx-compatibility"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    gpu = pool.gpu
    code = judged(image.code, gpu.capability) if image.code else None
    if code is None or image.gpu_free or (code.at_least is not None and code.cubins is None):
        return ()
    if best_cubin(code, gpu.capability) is not None:
        return ()  # there is machine code: the driver compiles nothing at start
    about = code.ptx_fact or code.fact
    if code.ptx is None:
        if code.cubins and gpu.capability < min(code.cubins).capability:
            return ()  # PTX is compiled for the newest targets: older GPUs cannot use it
        message = f"it is not known whether there is PTX that {gpu.name} could use: gpu-commons inspect --deep reads it"
        return (unknown(ID, message, about),)
    fitting = [target for target in code.ptx if compiles(target, gpu.capability)]
    if not fitting:
        return (_without(code, gpu),)
    best = max(fitting)
    name = f"compute_{best.capability.digits}{best.suffix}"
    maker = code.language_of(best) or image.built_with or image.cuda
    slow = f"has only PTX ({name}) for {gpu.name}: the driver compiles it at the first start, which takes minutes"
    if maker is None or pool.driver is None:
        return (warn(ID, slow, about),)
    known = reaches(maker, pool.driver, pool.platform)
    if known or compat_package.works(image, pool):
        return (warn(ID, slow, about),)
    found = native_floor(maker.line, pool.platform)
    if known is None or found is None:
        fact = Fact(f"no table has the driver that knows PTX of CUDA {maker}", _GUIDE, "", verified=False)
        return (
            unknown(
                ID,
                f"which driver compiles PTX of CUDA {maker} is not known: gpu-commons facts cuda_driver lists what is",
                fact,
            ),
        )
    floor, fact = found
    message = (
        f"has only PTX ({name}) of CUDA {maker.line} for {gpu.name}, and driver {pool.driver} does not support that "
        f"PTX ({floor} and newer do; error 222, unsupported toolchain)"
    )
    return (refuse(ID, message, fact, floor),)


def _without(code: Code, gpu: Gpu) -> Finding:
    """There is PTX for other GPUs, or none."""
    shown = ", ".join(f"compute_{t.capability.digits}{t.suffix}" for t in code.ptx or ()) or "none"
    message = f"has no PTX that {gpu.name} ({gpu.capability}) could use; it has {shown}"
    if code.ptx_is_unstated:
        message = f"its list of targets names no PTX, so it counts as without, and {gpu.name} could use no other code"
    return refuse(ID, message, code.ptx_fact or code.fact)


RULE = Rule(
    ID,
    check,
    sources=(_GUIDE, "https://docs.nvidia.com/deploy/cuda-compatibility/minor-version-compatibility.html"),
    need=Need.CODE,
)
