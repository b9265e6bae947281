"""R-DROP: drivers and toolkits that no longer support the GPU, or do not support it yet."""

from dataclasses import replace

from compat.evidence.drivers import first_drivers, last_branch, last_driver, newest_branch
from compat.facts import tables
from compat.rules.rule import Rule, as_stated
from compat.values.fact import THE_CASE, Fact
from compat.values.findings import Finding, refuse, unknown, warn
from compat.values.hosts import Gpu, PoolFacts
from compat.values.images import ImageFacts, best_cubin
from compat.values.versions import ComputeCapability, CudaVersion, DriverVersion

ID = "R-DROP"
_NVCC = "https://docs.nvidia.com/cuda/cuda-compiler-driver-nvcc/index.html#gpu-feature-list"
_TAKES = "https://github.com/NVIDIA/open-gpu-kernel-modules/blob/main/src/nvidia/arch/nvalloc/unix/src/osapi.c"
# Log of a program on an unnamed board, from the time of drivers without public source.
_NAMELESS = "https://stackoverflow.com/questions/35911252/disable-tensorflow-debugging-information"
_MATRIX = "https://docs.nvidia.com/datacenter/tesla/drivers/cuda-toolkit-driver-and-architecture-matrix.html"


def check(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    driver = pool.driver
    of_driver = _driver(driver, as_stated(driver), pool.gpu) if driver is not None else ()
    return of_driver + _by_the_toolkit(image, pool)


def _by_the_toolkit(image: ImageFacts, pool: PoolFacts) -> tuple[Finding, ...]:
    maker = image.built_with or image.cuda
    if maker is None or image.gpu_free:
        return ()
    if (beyond := _not_yet(image, maker)) is not None:
        return (beyond,)
    if image.code is not None and best_cubin(image.code, pool.gpu.capability) is not None:
        return ()  # machine code was linked in: the toolkit's own targets do not matter
    return _toolkit(maker, pool.gpu.capability, pool.gpu.name)


def _not_yet(image: ImageFacts, cuda: CudaVersion) -> Finding | None:
    """A user's own build whose compiler knows no target yet; some toolkits gained single targets later."""
    is_own = image.own_build or (image.code is not None and image.code.fact.source == THE_CASE)
    code = image.code if is_own else None
    requested = [target.capability for target in (*(code.cubins or ()), *(code.ptx or ()))] if code else []
    known = [arch for each in requested if (arch := tables.architectures().get(each)) and arch.first_cuda is not None]
    if not requested or len(known) < len(requested):
        return None
    if any(arch.first_cuda <= cuda.line for arch in known if arch.first_cuda):
        return None
    first = min(known, key=lambda arch: arch.capability)
    digits = first.capability.digits
    fact = first.origin.fact(f"the first CUDA that compiles for compute_{digits} is {first.first_cuda}", "first_cuda")
    message = f"CUDA {cuda} does not compile for compute_{digits} yet: {fact.text}"
    return refuse(ID, message, replace(fact, source=f"{fact.source} ; {_NVCC}"))


def _driver(driver: DriverVersion, stated: str, gpu: Gpu) -> tuple[Finding, ...]:
    arch = tables.architectures().get(gpu.capability)
    if arch is None:
        fact = Fact(f"no table lists compute capability {gpu.capability}", _MATRIX, "", verified=False)
        return (
            unknown(
                ID,
                f"which drivers support {gpu.name} is not known: gpu-commons facts gpu_arch lists what is",
                fact,
            ),
        )
    this = f"driver {stated}" if stated else "a driver"
    last = last_driver(gpu)
    if last is not None and driver > last:
        text = f"the last driver branch for {arch.name} ({gpu.capability}) is {arch.last_branch}"
        fact = gpu.last_fact or arch.origin.fact(text, "last_driver_branch")
        message = (
            f"{this} no longer supports {gpu.name}: {fact.text}"
            if stated
            else f"{fact.text}: newer drivers do not support {gpu.name}"
        )
        return (refuse(ID, message, fact, DriverVersion.start_of(last_branch(gpu) or 0)),)
    if arch.first_branch is not None and driver.branch < arch.first_branch:
        fact = arch.origin.fact(
            f"the first driver branch for {arch.name} ({gpu.capability}) is {arch.first_branch}", "first_driver_branch"
        )
        return _too_old(fact, stated, gpu)
    if gpu.drivers is not None and gpu.drivers.lack(driver):
        kin = gpu.drivers.kin(driver)
        return _too_old(gpu.drivers.fact, stated, gpu) if kin is None else _by_chip(gpu, stated, kin.fact)
    if driver.branch > newest_branch():
        fact = Fact(f"the newest driver branch of the tables is {newest_branch()}", _MATRIX, "2026-11-20")
        return (warn(ID, f"{this} is newer than the tables, so it is not known which GPUs it has dropped", fact),)
    return ()


def _too_old(fact: Fact, stated: str, gpu: Gpu) -> tuple[Finding, ...]:
    message = f"driver {stated} does not support {gpu.name} yet: {fact.text}" if stated else fact.text
    return (refuse(ID, message, fact, *first_drivers(gpu)[:1]),)


def _by_chip(gpu: Gpu, stated: str, kin: Fact) -> tuple[Finding, ...]:
    """A board that the driver does not list, though it lists another board with the same chip."""
    older = f"driver {stated} does not list {gpu.name} yet" if stated else f"drivers that old do not list {gpu.name}"
    # rm_is_supported_pci_device checks the class and a list of old boards, rm_is_supported_device the chip's id.
    text = "the kernel module recognizes a GPU by its chip, not by a list of boards"
    message = f"{older}, but it supports the chip: {kin.text}; {text}, so it may run, shown only as Graphics Device"
    return (warn(ID, message, Fact(text, f"{_TAKES} ; {_NAMELESS}", "2026-11-21")),)


def _toolkit(cuda: CudaVersion, gpu: ComputeCapability, name: str) -> tuple[Finding, ...]:
    arch = tables.architectures().get(gpu)
    if arch is None or arch.last_cuda is None or cuda.line <= arch.last_cuda:
        return ()
    text = f"the last CUDA that compiles for {arch.name} ({gpu}) is {arch.last_cuda}"
    message = f"CUDA {cuda} no longer compiles for {name}: {text}"
    return (refuse(ID, message, arch.origin.fact(text, "last_cuda")),)


RULE = Rule(
    ID,
    check,
    sources=(
        _MATRIX,
        "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html",
        "https://packages.ubuntu.com/nvidia-driver-595",
        _TAKES,
    ),
)
