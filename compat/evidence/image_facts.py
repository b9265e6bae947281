"""Facts on an image for the rules, from its parts: its name, its CUDA, a framework build of the tables."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from packaging.version import Version

from compat.evidence.pools import l4t_in
from compat.evidence.problems import AS_GIVEN
from compat.evidence.prose.build_words import required_driver, requirements_in
from compat.evidence.prose.ggml import ON_CUDA_IMAGES
from compat.evidence.prose.patterns import pattern
from compat.evidence.reading import typed as readings
from compat.evidence.reading.builds import ENCODERS, LOADS_CUDA_FROM_OUTSIDE, Wish
from compat.evidence.reading.image_name import ImageName
from compat.facts import tables
from compat.facts.rows import Build
from compat.values.model import Code, Compressed, Fact, ImageFacts, Present
from compat.values.versions import CudaVersion

_AMD64 = pattern(r"linux/amd64|\b(amd64|x86_64|x86-64)\b")
_ARM64 = pattern(r"linux/arm64|\b(arm64|aarch64|sbsa)\b")


@dataclass(frozen=True, slots=True)
class Given:
    """The image part of a case, each field read."""

    name: str
    named: ImageName | None
    cudas: tuple[CudaVersion, ...]
    code: Code | None
    compressed: Compressed | None
    lists_targets: bool
    framework: str
    version: str  # as it is written
    build: str
    cudnn: Version | None
    compat: str
    puts_compat_first: bool
    glibc: Version | None
    environment: tuple[tuple[str, str], ...]

    @property
    def around(self) -> tuple[CudaVersion, ...]:
        """CUDA that is there beside a framework's own: stated, or in the image's name."""
        return self.cudas or (self.named.cudas if self.named else ())


def with_build(
    given: Given, wish: Wish, build: Build | None, own: CudaVersion | None, *, is_likely: bool = False
) -> ImageFacts:
    """The image with a framework in it: a build of the tables, or one of which only the CUDA is known."""
    brings, around = brings_cuda(wish), given.around
    loaded = own
    if not brings and around and own is not None and around[0].major == own.major:
        loaded = around[0]  # libraries of the same major, from the image
    image = plain_image(given, loaded)
    found = replace(
        image,
        built_with=own,
        compressed=image.compressed or (compressed_of(build) if build is not None and not is_likely else None),
        code=_code_in(image, given, build, is_likely=is_likely),
        gpu_free=build is not None and build.variant == "cpu",
        framework=wish.framework,
        framework_version=wish.version,
        of_project_index=(bool(wish.cuda) and not wish.conda) or bool(re.search(r"\bcu1\d\d\b", given.name.lower())),
        program=wish.program,
        program_version=wish.program_version,
        carries_cuda=brings,
        system_cuda=around[0] if around else None,
        uses_encoder=wish.framework in ENCODERS,
        compat_package=_compat_in(image, given, wish),
    )
    return found if build is None else built(found, build, brings=brings)


def _compat_in(image: ImageFacts, given: Given, wish: Wish) -> Present:
    """Images of llama.cpp and its copies are built on NVIDIA's images for CUDA, wherever they are published."""
    if given.compat or image.compat_package is Present.YES:
        return image.compat_package
    if given.named is not None and wish.framework in ON_CUDA_IMAGES and image.cuda is not None:
        return Present.YES
    return image.compat_package if given.named else Present.NO


def _code_in(image: ImageFacts, given: Given, build: Build | None, *, is_likely: bool) -> Code | None:
    """As the case lists it, else as the tables have it; a stated oldest GPU does not replace their list."""
    stated = given.code
    of_build = code_of(build, is_likely=is_likely) if build is not None else None
    if stated is None or of_build is None:
        return image.code if stated is not None or of_build is None else of_build
    is_bound = stated.at_least is not None and stated.cubins is None and stated.ptx is None
    return replace(of_build, at_least=stated.at_least) if is_bound else image.code


def built(image: ImageFacts, build: Build, *, brings: bool) -> ImageFacts:
    """The image with what the tables say of a build."""
    return replace(
        image,
        framework_version=image.framework_version or _maybe_release(build.version),
        build=build.variant,
        cudnn=image.cudnn or (_maybe_release(build.cudnn) if brings else None),
        lowest_capability=build.lowest_capability or image.lowest_capability,
        stated_driver=image.stated_driver or build.stated_driver,
        cuda_fact=_cuda_fact(build),
    )


def plain_image(given: Given, cuda: CudaVersion | None) -> ImageFacts:
    """The image as the case and its name describe it, with one CUDA line."""
    named = given.named
    plain = ImageFacts(
        name=given.name,
        cuda=cuda,
        cuda_fact=AS_GIVEN,
        code=given.code,
        compressed=given.compressed,
        cudnn=given.cudnn,
        compat_package=Present(given.compat) if given.compat else _compat_of(given, cuda),
        compat_line=given.cudas[-1].line if given.cudas else cuda,
        compat_use="always" if given.puts_compat_first else "",
        environment=given.environment,
        cpu_architectures=_architectures(given.build),
        glibc=given.glibc,
        remarks=given.build,
        stated_driver=required_driver(given.build) if given.build else None,
        requires=requirements_in(given.build) if given.build else (),
    )
    if named is None:
        return plain
    is_gpu_free = named.gpu_free and cuda is None and given.code is None
    of_tag = Code(named.targets.cubins, named.targets.ptx, named.fact) if named.targets else None
    return replace(
        plain,
        cuda_fact=named.fact if is_gpu_free or (named.cudas and not given.cudas) else AS_GIVEN,
        code=given.code or of_tag,
        gpu_free=is_gpu_free,
        is_whole=is_gpu_free,
        build="cpu" if is_gpu_free and named.is_for_cpu else "",
        cudnn=given.cudnn or _maybe_release(named.cudnn),
        nccl=_maybe_release(named.nccl),
        compat_package=plain.compat_package if given.compat or named.compat_package is not Present.YES else Present.YES,
        compat_line=_compat_line(named, cuda) or plain.compat_line,
        compat_branches=named.compat_branches,
        compat_use=plain.compat_use or named.compat_use,
        requires=named.requires or plain.requires,
        cpu_architectures=plain.cpu_architectures or named.cpu_architectures,
        glibc=given.glibc or _glibc_of(named),
        l4t=l4t_in(named.l4t),
        is_opaque=cuda is None and not named.cudas and not named.jetson and named.lowest_capability is None,
        lowest_capability=named.lowest_capability,
    )


def brings_cuda(wish: Wish) -> bool:
    return wish.framework not in LOADS_CUDA_FROM_OUTSIDE if wish.brings_cuda is None else wish.brings_cuda


# Base images by name: from CUDA 10.0 on they bring the compat package of their CUDA.
_ON_CUDA_IMAGE = pattern(r"\bnvidia/cuda:\d\d\.\d|\bnvidia/cuda image\b", re.IGNORECASE)
_COMPAT_LEFT_OUT = pattern(r"\bcompat\b", re.IGNORECASE)
_WITH_COMPAT = CudaVersion(10, 0)


def _compat_of(given: Given, cuda: CudaVersion | None) -> Present:
    """Is the compat package there, where the case does not say? In images built on NVIDIA's images for CUDA."""
    is_on_it = _ON_CUDA_IMAGE.search(given.build) is not None and not _COMPAT_LEFT_OUT.search(given.build)
    return Present.YES if is_on_it and cuda is not None and cuda >= _WITH_COMPAT else Present.NO


def _compat_line(named: ImageName, cuda: CudaVersion | None) -> CudaVersion | None:
    """The CUDA of an image's compat package: its own, of which the name may state only the major."""
    if cuda is not None and cuda.line in lines_of(named.cudas):
        return cuda.line
    return named.cudas[-1].line if named.cudas else None


def lines_of(cudas: tuple[CudaVersion, ...]) -> tuple[CudaVersion, ...]:
    return tuple(cuda.line for cuda in cudas)


def _maybe_release(text: str) -> Version | None:
    match = re.match(r"\d+(\.\d+)*", text.strip())
    return readings.read_release(match[0]) if match else None


def _architectures(build: str) -> tuple[str, ...]:
    """`linux/amd64 only`, `aarch64 wheel`: the processor that a text gives for a build."""
    text = build.lower()
    if _AMD64.search(text):
        return ("amd64",)
    return ("arm64",) if _ARM64.search(text) else ()


def _glibc_of(named: ImageName) -> Version | None:
    rows = tables.by_key("glibc", "os").get(named.os, ()) if named.os else ()
    return _maybe_release(rows[0]["glibc"]) if rows else None  # musl has no such number


def code_of(build: Build, *, is_likely: bool = False) -> Code | None:
    """Device code of a build as the tables have it; unverified where it is a neighbour's. None: not recorded."""
    if build.cubins is None and build.ptx is None and build.at_least is None:
        return None
    text = f"{build.framework} {build.version} {build.variant} ({build.distribution}) has code as listed, {build.basis}"
    cubins, ptx = build.origin.fact(text, "sm_list"), build.origin.fact(text, "ptx")
    if is_likely:  # not seen
        cubins, ptx = replace(cubins, verified=False), replace(ptx, verified=False)
    beside = code_of(build.beside) if build.beside else None
    return Code(build.cubins, build.ptx, cubins, build.at_least, ptx, beside, build.ptx_cuda)


def compressed_of(build: Build) -> Compressed | None:
    """The compression seen in a build's binary; None where it was not inspected."""
    if build.compressed is None:
        return None
    text = f"{build.framework} {build.version} {build.variant} ({build.distribution}): compression read from the binary"
    return Compressed(*build.compressed, build.origin.fact(text, "compressed"))


def _cuda_fact(build: Build) -> Fact:
    text = f"{build.framework} {build.version} {build.variant} ({build.distribution}) is built for CUDA {build.cuda}"
    return build.origin.fact(text, "cuda", "variant", "is_pypi_default")
