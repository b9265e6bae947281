"""Values of the engine: what an image holds, what a pool is, and what is said about the two.

Everything here is frozen and hashable, because equal questions are answered once. The big ones (`eq=False`) are
compared by identity: readers cache, so equal texts give the same object, and as a key it costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache

from packaging.version import Version

from components.compat.versions import ComputeCapability, CudaVersion, DriverVersion, JetsonVersion, Target


class Verdict(StrEnum):
    """The four answers, best first."""

    COMPATIBLE = "compatible"
    WITH_WARNING = "compatible_with_warning"
    UNKNOWN = "unknown"
    INCOMPATIBLE = "incompatible"

    @property
    def runs(self) -> bool:
        return self in {Verdict.COMPATIBLE, Verdict.WITH_WARNING}


class Severity(StrEnum):
    """What one finding means for the whole: it holds, it holds with a limit, it cannot be told, it does not hold."""

    NOTE = "note"
    WARN = "warn"
    UNKNOWN = "unknown"
    REFUSE = "refuse"


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement that decides, where it can be read, and when it was. An unverified one is from memory."""

    text: str
    source: str
    date: str
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """One field of a case, as it is and as it would have to be. `from_` is empty where nothing was said."""

    field: str
    from_: str
    to: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule says. `changes` are those that would satisfy it, each alone, cheapest first."""

    rule: str
    severity: Severity
    message: str
    fact: Fact
    places: tuple[str, ...] = ()
    changes: tuple[Change, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to change, in words that a person can act on and as data; all changes together."""

    text: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict on one case, what decided it, and what would turn it."""

    id: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    remedy: Remedy | None = None


class Platform(StrEnum):
    """The driver lines, which are never compared with each other."""

    LINUX = "linux"
    LINUX_ARM = "linux-aarch64"  # servers (SBSA): same numbers as Linux x86_64, floors of their own
    WINDOWS = "windows"  # WSL too: its driver is the one of Windows
    JETSON = "l4t"


class Present(StrEnum):
    """Is a thing in the image? Nobody knowing is an answer of its own."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, eq=False)
class Gpu:
    """What decides about a GPU. Models that agree in all of this are one GPU to the rules."""

    name: str
    capability: ComputeCapability
    architecture: str
    product_class: str  # datacenter, workstation, geforce, jetson; empty: not known
    forward_compat: Present
    fact: Fact
    mig: str = ""  # profile of the slice, where it is one


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """Device code: targets of its cubins and its PTX. An empty tuple is none; None is not known."""

    cubins: tuple[Target, ...] | None
    ptx: tuple[Target, ...] | None
    fact: Fact
    at_least: ComputeCapability | None = None  # the project states a lowest capability instead of a list
    ptx_fact: Fact | None = None  # where PTX is known from elsewhere than the cubins


@dataclass(frozen=True, slots=True, eq=False)
class ImageFacts:
    """What an image, or a framework build, holds and asks for. None or empty: not known, or not there."""

    name: str
    cuda: CudaVersion | None = None  # the runtime that its programs load
    cuda_fact: Fact | None = None
    built_with: CudaVersion | None = None  # toolkit that made its PTX, where it is not `cuda`
    code: Code | None = None
    gpu_free: bool = False  # holds nothing that uses a GPU
    framework: str = ""
    framework_version: Version | None = None
    build: str = ""  # variant: cu118, cuda12
    cudnn: Version | None = None
    nccl: Version | None = None
    compat_package: Present = Present.UNKNOWN
    compat_line: CudaVersion | None = None
    compat_branches: tuple[int, ...] = ()  # host branches that the image's own notes name
    requires: tuple[str, ...] = ()  # clauses of NVIDIA_REQUIRE_*
    environment: tuple[tuple[str, str], ...] = ()
    cpu_architectures: tuple[str, ...] = ()  # amd64, arm64
    glibc: Version | None = None
    system_cuda: CudaVersion | None = None  # CUDA of the image beside a wheel's own
    carries_cuda: bool = True  # false: the build loads CUDA from the image around it
    lowest_capability: ComputeCapability | None = None  # as the project states it
    stated_driver: DriverVersion | None = None
    remarks: str = ""  # free text of the case: --dtype bfloat16, OpenGL program
    l4t: JetsonVersion | None = None  # Jetson Linux that an image is made for
    is_opaque: bool = False  # an image whose name tells nothing of its content

    def told(self) -> frozenset[str]:
        """Names of the fields that are known, as far as rules ask for them."""
        return _told_of_image(self)


@dataclass(frozen=True, slots=True, eq=False)
class PoolFacts:
    """What a host is. None or empty: not known."""

    gpu: Gpu
    driver: DriverVersion | None = None
    jetson: JetsonVersion | None = None
    platform: Platform = Platform.LINUX
    host: str = ""  # bare, docker, kubernetes, apptainer, wsl
    container_toolkit: Version | None = None
    kernel_module: str = ""  # open, proprietary
    cpu_architecture: str = ""
    glibc: Version | None = None
    instance_type: str = ""
    ami_release: str = ""
    operator: str = ""

    def told(self) -> frozenset[str]:
        """Names of the fields that are known, as far as rules ask for them; hosts with rules of their own too."""
        return _told_of_pool(
            self.kernel_module,
            self.cpu_architecture,
            self.instance_type,
            self.ami_release,
            self.operator,
            self.host,
            self.platform,
        )


@lru_cache(16384)
def _told_of_image(image: ImageFacts) -> frozenset[str]:
    known = {
        "cudnn": image.cudnn is not None,
        "nccl": image.nccl is not None,
        "environment": bool(image.environment),
        "requires": bool(image.requires),
        "compat_package": image.compat_package is not Present.NO,
        "framework": bool(image.framework),
        "gpu_free": image.gpu_free,
        "lowest_capability": image.lowest_capability is not None,
        "code": image.code is not None,
    }
    return frozenset(name for name, is_known in known.items() if is_known)


@lru_cache(4096)
def _told_of_pool(  # noqa: PLR0913, PLR0917 - the key of the cache
    kernel_module: str, cpu: str, instance_type: str, ami_release: str, operator: str, host: str, platform: Platform
) -> frozenset[str]:
    known = {
        "kernel_module": bool(kernel_module),
        "cpu_architecture": bool(cpu),
        "instance_type": bool(instance_type),
        "ami_release": bool(ami_release),
        "operator": bool(operator),
        "on_jetson": platform is Platform.JETSON,
        f"on_{host}": bool(host),
    }
    return frozenset(name for name, is_known in known.items() if is_known)
