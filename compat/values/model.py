"""Values of the engine: what an image holds, what a pool is, and what the rules report about the two.

Everything here is frozen and hashable. The big ones (`eq=False`) are compared by identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Self

from packaging.version import Version

from compat.values.versions import ComputeCapability, CudaVersion, DriverVersion, JetsonVersion, Target


class Verdict(StrEnum):
    """The four answers. `rank` counts from the best on: of several, the one with the highest stands for all."""

    rank: int

    COMPATIBLE = "compatible", 0
    WITH_WARNING = "compatible_with_warning", 1
    UNKNOWN = "unknown", 2
    INCOMPATIBLE = "incompatible", 3

    def __new__(cls, value: str, rank: int) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = rank
        return member

    @property
    def runs(self) -> bool:
        return self is Verdict.COMPATIBLE or self is Verdict.WITH_WARNING


class Severity(StrEnum):
    """What one finding means for the whole: it holds, it holds with a limit, it cannot be decided, it does not hold.

    `rank` counts from the best on.
    """

    rank: int

    NOTE = "note", 0
    WARN = "warn", 1
    UNKNOWN = "unknown", 2
    REFUSE = "refuse", 3

    def __new__(cls, value: str, rank: int) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = rank
        return member


THE_CASE = "the case"  # as the source of a fact: the case itself states it


@dataclass(frozen=True, slots=True)
class Fact:
    """A statement that decides, where it can be read, and when it was. An unverified one is from memory."""

    text: str
    source: str
    date: str
    verified: bool = True


@dataclass(frozen=True, slots=True)
class Change:
    """One field of a case, as it is and as it would have to be. `from_` is empty where nothing was stated."""

    field: str
    from_: str
    to: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of the case other than the driver and the content of the image, and the value that it needs."""

    field: str  # kernel_module, container_toolkit, cuda_compat, image_glibc, host, ami_release
    to: str | Version


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the container, and the value that it needs; empty: none."""

    name: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class GpuSpan:
    """Compute capabilities of the GPUs that would do; without `highest` all newer ones."""

    lowest: ComputeCapability
    highest: ComputeCapability | None = None


Fix = DriverVersion | Setting | Variable | GpuSpan


@dataclass(frozen=True, slots=True)
class Finding:
    """What one rule reports. `fixes` are what would satisfy it, each alone, cheapest first."""

    rule: str
    severity: Severity
    message: str
    fact: Fact
    places: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Way:
    """One way out: what to change, in words and as data; all changes together."""

    text: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to change, in words that a person can act on and as data; all changes together.

    `text` tells every way, `changes` are those of the first; `otherwise` holds the ways beside it.
    """

    text: str
    changes: tuple[Change, ...] = ()
    otherwise: tuple[Way, ...] = ()


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
    """Is a thing in the image? `unknown` is an answer too."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class GpuDrivers:
    """Drivers of one GPU model on Linux, release by release of the branches that a source names."""

    first: tuple[DriverVersion, ...]  # they know it
    not_in: tuple[DriverVersion, ...]  # they and older ones of their branch do not
    fact: Fact
    boards: tuple[tuple[GpuDrivers, ...], ...] = ()  # for each chip that it is made with, those of all its boards

    def lack(self, driver: DriverVersion) -> bool:
        """Is this one too old for the model? Branches between those that are named are not judged."""
        if driver.branch < self.not_in[0].branch:
            return driver.branch < self.first[0].branch
        return any(each.branch == driver.branch and driver <= each for each in self.not_in)

    def kin(self, driver: DriverVersion) -> GpuDrivers | None:
        """A board of the same chip that this driver knows; None where that does not hold for each of its chips."""
        found = [next((each for each in of_chip if not each.lack(driver)), None) for of_chip in self.boards]
        return found[0] if all(found) and found else None

    @property
    def turns(self) -> tuple[DriverVersion, ...]:
        """Drivers from which on more may be known: its own first ones and those of its chips."""
        return (*self.first, *(first for of_chip in self.boards for each in of_chip for first in each.first))


@dataclass(frozen=True, slots=True, eq=False)
class Gpu:
    """The deciding facts of a GPU. Models with the same facts are one GPU to the rules."""

    name: str
    capability: ComputeCapability
    architecture: str
    product_class: str  # datacenter, workstation, geforce, jetson; empty: not known
    forward_compat: Present
    fact: Fact
    mig: str = ""  # profile of the slice, where it is one
    mig_driver: DriverVersion | None = None  # the oldest that cuts it into slices, where a source names one
    mig_fact: Fact | None = None
    supported_from: DriverVersion | None = None  # as the guide to MIG lists it; nothing is known of older ones
    drivers: GpuDrivers | None = None  # of its model, where a source names its first one
    last_branch: int | None = None  # of its model, where it was dropped before its architecture
    last_fact: Fact | None = None


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """Device code: targets of its cubins and its PTX. An empty tuple is none; None is not known."""

    cubins: tuple[Target, ...] | None
    ptx: tuple[Target, ...] | None
    fact: Fact
    at_least: ComputeCapability | None = None  # the project states a lowest capability instead of a list
    ptx_fact: Fact | None = None  # where PTX is known from elsewhere than the cubins
    beside: Code | None = None  # of another wheel in the same program: both must run
    ptx_cuda: CudaVersion | None = None  # CUDA that knows this PTX, where it is not the one of the build
    ptx_is_unstated: bool = False  # cubins are listed, and PTX is not mentioned


_COMPRESSES_BY_ZSTD = CudaVersion(12, 8)  # the first nvcc with --compress-mode


@dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """Targets whose code zstd compresses, as it was seen in the binary. An empty tuple is none, None is all of them."""

    cubins: tuple[Target, ...] | None
    ptx: tuple[Target, ...] | None
    fact: Fact


@dataclass(frozen=True, slots=True, eq=False)
class ImageFacts:
    """What an image, or a framework build, holds and asks for. None or empty: not known, or not there."""

    name: str
    cuda: CudaVersion | None = None  # the runtime that its programs load
    cuda_fact: Fact | None = None
    built_with: CudaVersion | None = None  # toolkit that made its PTX, where it is not `cuda`
    code: Code | None = None
    compressed: Compressed | None = None  # None: not inspected
    gpu_free: bool = False  # holds nothing that uses a GPU
    is_whole: bool = False  # `gpu_free` holds for the whole image, and not for one build of a framework
    framework: str = ""
    framework_version: Version | None = None
    program: str = ""  # what the case names: the framework, or a program around it
    program_version: Version | None = None
    build: str = ""  # variant: cu118, cuda12
    of_project_index: bool = False  # the case names the tag of the project's own wheel index, such as cu118
    cudnn: Version | None = None
    nccl: Version | None = None
    compat_package: Present = Present.UNKNOWN
    compat_line: CudaVersion | None = None
    compat_branches: tuple[int, ...] = ()  # host branches that the image's own notes name
    compat_use: str = (
        ""  # `checked`: its entrypoint tries the package first; `first`: before the driver's; `always`: so it was seen
    )
    requires: tuple[str, ...] = ()  # clauses of NVIDIA_REQUIRE_*
    environment: tuple[tuple[str, str], ...] = ()
    cpu_architectures: tuple[str, ...] = ()  # amd64, arm64
    glibc: Version | None = None
    system_cuda: CudaVersion | None = None  # CUDA of the image beside a wheel's own
    carries_cuda: bool = True  # false: the build loads CUDA from the image around it
    lowest_capability: ComputeCapability | None = None  # as the project states it
    stated_driver: DriverVersion | None = None
    own_build: bool = False  # a user's own build: a project's statements on its wheels do not count
    remarks: str = ""  # free text of the case: --dtype bfloat16, OpenGL program
    l4t: JetsonVersion | None = None  # Jetson Linux that an image is made for
    uses_encoder: bool = False  # a program for video: it uses the GPU through the driver's own libraries, and no CUDA
    is_of_driver: bool = False  # what is run comes with the driver, such as nvidia-smi
    taken_by_driver: bool = False  # one of several builds; people take the one that their driver runs
    unknown_build: Finding | None = None  # CUDA, targets and driver of a named program are unknown: the finding
    is_opaque: bool = False  # an image whose name does not reveal its content

    @property
    def may_be_compressed(self) -> bool:
        """Is there code that zstd compresses, or could there be? Compilers before CUDA 12.8 make none.

        An image without any known program is left out.
        """
        if self.compressed is not None:
            return self.compressed.cubins != () or self.compressed.ptx != ()
        maker = self.built_with or self.cuda
        has_program = bool(self.framework or self.code or self.own_build) and not self.gpu_free
        return has_program and maker is not None and maker.line >= _COMPRESSES_BY_ZSTD

    @property
    def opaque_name(self) -> str:
        """The name, where it is all that is known of the content."""
        code = self.code
        is_open = self.cuda is None if code is None else code.cubins is None and code.ptx is None
        return self.name if is_open else ""


@dataclass(frozen=True, slots=True, eq=False)
class PoolFacts:
    """Facts on a host. None or empty: not known."""

    gpu: Gpu
    driver: DriverVersion | None
    platform: Platform = Platform.LINUX
    jetson: JetsonVersion | None = None
    host: str = ""  # bare, docker, kubernetes, apptainer, wsl
    container_toolkit: Version | None = None
    kernel_module: str = ""  # open, proprietary
    cpu_architecture: str = ""
    glibc: Version | None = None
    instance_type: str = ""
    ami_release: str = ""
    operator: str = ""

    @property
    def is_exact(self) -> bool:
        """Is it known which driver is there? On a Jetson it is part of the system."""
        return self.driver is not None or self.platform is Platform.JETSON
