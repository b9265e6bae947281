"""Content and needs of an image: CUDA, device code, libraries, a framework build."""

from __future__ import annotations

from dataclasses import dataclass

from packaging.version import Version

from compat.values.fact import Fact, Present
from compat.values.versions import ComputeCapability, CudaVersion, DriverVersion, Target, compiles, runs


@dataclass(frozen=True, slots=True, eq=False)
class Code:
    """Device code: targets of its cubins and its PTX. An empty tuple is none; None is not known."""

    cubins: tuple[Target, ...] | None
    ptx: tuple[Target, ...] | None
    fact: Fact
    at_least: ComputeCapability | None = None  # the project states a lowest capability instead of a list
    ptx_fact: Fact | None = None  # if PTX has another source than the cubins
    beside: Code | None = None  # of another wheel in the same program: both must run
    ptx_cuda: CudaVersion | None = None  # CUDA that knows this PTX, if it is not the build's
    ptx_is_unstated: bool = False  # cubins are listed, and PTX is not mentioned
    languages: tuple[tuple[Target, CudaVersion], ...] = ()  # the CUDA that knows the PTX of a target, as it was read

    def language_of(self, target: Target) -> CudaVersion | None:
        """The CUDA whose driver compiles the PTX of this target; None if only that of the build is known."""
        return dict(self.languages).get(target, self.ptx_cuda)


_COMPRESSES_BY_ZSTD = CudaVersion(12, 8)  # the first nvcc with --compress-mode


@dataclass(frozen=True, slots=True, eq=False)
class Compressed:
    """Targets with code compressed by zstd, as seen in the binary. An empty tuple is none, None is all."""

    cubins: tuple[Target, ...] | None
    ptx: tuple[Target, ...] | None
    fact: Fact


@dataclass(frozen=True, slots=True, eq=False)
class ImageFacts:
    """Content and needs of an image or a framework build. None or empty: not known, or absent."""

    name: str
    cuda: CudaVersion | None = None  # the CUDA runtime that its programs load
    cuda_fact: Fact | None = None
    built_with: CudaVersion | None = None  # toolkit that compiled its PTX, if it is not `cuda`
    code: Code | None = None
    compressed: Compressed | None = None  # None: not inspected
    gpu_free: bool = False  # holds nothing that uses a GPU
    is_whole: bool = False  # `gpu_free` applies to the whole image, not to one framework build
    framework: str = ""
    framework_version: Version | None = None
    build: str = ""  # variant: cu118, cuda12
    cudnn: Version | None = None
    nccl: Version | None = None
    compat_package: Present = Present.UNKNOWN
    compat_line: CudaVersion | None = None
    compat_branches: tuple[int, ...] = ()  # host branches that the image's own notes name
    compat_use: str = ""  # `checked`: its entrypoint tries the package first; `first`: before the driver's
    requires: tuple[str, ...] = ()  # clauses of NVIDIA_REQUIRE_*
    environment: tuple[tuple[str, str], ...] = ()
    cpu_architectures: tuple[str, ...] = ()  # amd64, arm64
    glibc: Version | None = None
    system_cuda: CudaVersion | None = None  # CUDA of the image, besides a wheel's own
    carries_cuda: bool = True  # false: the build loads CUDA from the image around it
    lowest_capability: ComputeCapability | None = None  # as the project states it
    stated_driver: DriverVersion | None = None
    own_build: bool = False  # a user's own build: a project's statements on its wheels do not apply
    of_project_index: bool = False  # named with a CUDA (2.6.0+cu124), as wheels of a project's own index are
    taken_by_driver: bool = False  # one of several builds; people install the one that their driver runs
    is_unlisted: bool = False  # a named framework without a build in the tables, so its CUDA is unknown
    is_opaque: bool = False  # an image whose name does not reveal its content

    @property
    def may_be_compressed(self) -> bool:
        """Is there, or could there be, code compressed by zstd? Compilers before CUDA 12.8 generate none.

        Not for an image without a known program.
        """
        if self.compressed is not None:
            return self.compressed.cubins != () or self.compressed.ptx != ()
        maker = self.built_with or self.cuda
        has_program = bool(self.framework or self.code or self.own_build) and not self.gpu_free
        return has_program and maker is not None and maker.line >= _COMPRESSES_BY_ZSTD

    @property
    def opaque_name(self) -> str:
        """The name, if nothing else is known of the content."""
        code = self.code
        is_open = self.cuda is None if code is None else code.cubins is None and code.ptx is None
        return self.name if is_open else ""


def best_cubin(code: Code, gpu: ComputeCapability) -> Target | None:
    """The newest machine code that the GPU runs; None if there is none."""
    return max((target for target in code.cubins or () if runs(target, gpu)), default=None)


def judged(code: Code, gpu: ComputeCapability) -> Code:
    """The code of a build or of its pinned wheel: the one with nothing for this GPU, else the build's own."""
    other = code.beside
    if other is None or other.cubins is None or other.ptx is None or best_cubin(other, gpu) is not None:
        return code
    return code if any(compiles(target, gpu) for target in other.ptx) else other
