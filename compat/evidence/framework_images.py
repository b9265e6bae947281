"""A framework in an image: the builds that a case may mean, as published, for a JetPack, by OpenCL, or a user's own."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from packaging.version import Version

from compat.evidence.device_code import can_make
from compat.evidence.image_facts import Given, brings_cuda, lines_of, with_build
from compat.evidence.problems import AS_GIVEN, Axis, Reader
from compat.evidence.prose import dates
from compat.evidence.prose.build_words import of_this_build
from compat.evidence.prose.driver_words import needs_opencl
from compat.evidence.prose.eras import era_of
from compat.evidence.prose.ggml import COMPILED_AT_HOME, OF_GGML, code_of
from compat.evidence.prose.patterns import pattern
from compat.evidence.prose.programs import rows_of
from compat.evidence.reading import typed as readings
from compat.evidence.reading.builds import (
    ENCODERS,
    OPENCL,
    TAKEN_BY_DRIVER,
    WINDOWS,
    Choice,
    Wish,
    choose,
    cuda_made_with,
    is_made_there,
    is_of_ones_own,
)
from compat.evidence.reading.distributions import ALIASES
from compat.facts import tables
from compat.facts.rows import JETSON, TEGRA, Build
from compat.rules.rule import note, unknown, warn
from compat.values.model import Code, Fact, Finding, ImageFacts
from compat.values.versions import CudaVersion

_PYPI_WINDOWS = Fact(
    "the wheels of torch for Windows on PyPI are built for the CPU",
    "https://github.com/pytorch/pytorch.github.io/pull/757",
    "2026-11-21",
)
# For arm64 wheels that the case says are from PyPI: `pip` alone also installs NVIDIA's wheels.
_FROM_PYPI = pattern(r"\bpypi\b", re.IGNORECASE)
_FIRST_FOR_ARM = {"pytorch": Version("2.11")}
_PYPI_ARM = {
    "pytorch": Fact(
        "the wheels of torch for arm64 on PyPI are built for the CPU up to 2.10, later ones for the GPUs of servers",
        "PyPI torch 2.10.0, 2.11.0 and 2.14.0 (manylinux aarch64 wheels) ; "
        "https://github.com/pinokiocomputer/pinokio/issues/1027",
        "2026-11-26",
    ),
    "tensorflow": Fact(
        "the wheels of TensorFlow for arm64 on PyPI are built for the CPU",
        "https://github.com/tensorflow/tensorflow/issues/62711 ; https://huggingface.co/datasets/infineon/tensorflow-gpu",
        "2026-11-26",
    ),
}
_OPENCL = Fact(
    "without a CUDA toolkit it falls back to the OpenCL that the driver brings",
    "https://github.com/hashcat/hashcat/issues/2753",
    "2026-11-23",
)
_OF_DRIVERS_OPENCL = Fact(
    "the OpenCL that the driver brings compiles it for the GPU, and no CUDA counts",
    "https://github.com/leela-zero/leela-zero/issues/684",
    "2026-11-27",
)
# Their wheels on PyPI have no CUDA for arm64, or are not for Jetson: NVIDIA publishes some for each JetPack, of which
# TensorRT is a part.
_MADE_FOR_JETPACK = frozenset({"tensorrt", "tensorflow", "pytorch", "onnxruntime", "lmdeploy", "mxnet"})
_OF_JETPACK = Fact(
    "NVIDIA publishes builds of frameworks for each JetPack, and TensorRT is a part of it",
    "https://docs.nvidia.com/deeplearning/frameworks/install-tf-jetson-platform-release-notes/tf-jetson-rel.html ; "
    "https://gist.github.com/Tiryoh/2b5dc1f86ab6bc3e6922e97a4c1ac2f2 ; https://github.com/pytorch/pytorch/pull/82404",
    "2026-11-24",
)
_AS_WHEELS = frozenset({"ctranslate2", "faster-whisper", "onnxruntime"})  # few compile them, and say so
_ALL_BUILDS_LISTED = frozenset({"pytorch", "ollama"})  # their projects publish no others than the tables have


def each_of(reader: Reader, cudas: tuple[CudaVersion, ...], code: Code | None) -> tuple[CudaVersion | None, ...]:
    """CUDA lines that may be meant: for `12`, those that know the listed targets, if any does."""
    able = tuple(cuda for cuda in cudas if code is None or can_make(cuda, code)) if len(cudas) > 1 else cudas
    cudas = able or cudas
    if len(cudas) > 1:
        reader.open.append(Axis("cuda", f"which CUDA {cudas[0].major}.x it is"))
    return cudas or (None,)


def images_of(reader: Reader, given: Given, wish: Wish) -> tuple[ImageFacts, ...]:
    """The image with each build of the framework that the case may mean; notes and open points go to the reader."""
    if _has_no_gpu(given):
        assert given.named is not None  # noqa: S101 - checked by `_has_no_gpu`
        return (replace(_gpu_free(given, wish, given.named.fact), is_whole=True),)
    if wish.cpu_only:
        return (_gpu_free(given, wish, AS_GIVEN),)
    if wish.system == TEGRA and _FROM_PYPI.search(given.build) and not wish.cuda and _is_for_cpus_on_arm(wish):
        return (_gpu_free(given, wish, _PYPI_ARM[wish.framework]),)
    if _is_from_pypi_on_windows(given, wish):
        if wish.from_index == "pypi":
            return (_gpu_free(given, wish, _PYPI_WINDOWS),)
        message = "pip on Windows takes a build for the CPU, unless an index such as …/whl/cu121 is named"
        reader.notes.append(warn("R-FRAMEWORK", message, _PYPI_WINDOWS))
    return _with_code(reader, given, wish)


def _is_for_cpus_on_arm(wish: Wish) -> bool:
    """Has PyPI no wheel for GPUs of arm64? Those of torch from 2.11 on are for servers: their targets count."""
    first = _FIRST_FOR_ARM.get(wish.framework)
    return wish.framework in _PYPI_ARM and (first is None or wish.version is None or wish.version < first)


def _with_code(reader: Reader, given: Given, wish: Wish) -> tuple[ImageFacts, ...]:
    """Builds for the GPU: compiled by the driver's OpenCL, by the user, for a JetPack, or published."""
    if _is_of_opencl(given, wish):
        fact = _OPENCL if wish.framework in OPENCL else _OF_DRIVERS_OPENCL
        reader.notes.append(note("R-FRAMEWORK", f"{wish.framework}: {fact.text}", fact))
        return (with_build(given, wish, None, None),)
    if _is_own_build(given, wish):
        images = (with_build(given, wish, None, line) for line in each_of(reader, given.around, given.code))
        return tuple(replace(image, own_build=True) for image in images)
    if wish.for_jetson:
        return tuple(_for_jetson(given, wish, line) for line in each_of(reader, given.around or wish.cuda, given.code))
    if wish.system in {TEGRA, JETSON} and is_made_there(given.build):
        return tuple(_for_jetson(given, wish, line) for line in each_of(reader, given.around or wish.cuda, given.code))
    if wish.system == TEGRA and _is_of_jetpack(given, wish):
        message = f"{wish.framework} is taken for a build for the CUDA of the Jetson's JetPack"
        reader.notes.append(note("R-JETSON", f"{message}: those for servers do not serve it", _OF_JETPACK))
        return tuple(_for_jetson(given, wish, line) for line in each_of(reader, given.around, given.code))
    return _of_tables(reader, given, wish)


_OF_CUDA = pattern(r"\bcuda[- ]back-?end\b|\bbackend[: =]+cuda\b", re.IGNORECASE)


def _is_of_opencl(given: Given, wish: Wish) -> bool:
    """Does it run on OpenCL instead of CUDA: an old release, or one without any CUDA around it?"""
    names_cuda = bool(wish.cuda or given.around or given.code)
    if (takes_cuda_from := OPENCL.get(wish.framework)) is None:
        return needs_opencl(given.build) and not names_cuda and wish.framework not in tables.framework_rows()
    is_old = wish.version is not None and wish.version < takes_cuda_from
    return (is_old and not _OF_CUDA.search(given.build)) or not names_cuda


def _for_jetson(given: Given, wish: Wish, line: CudaVersion | None) -> ImageFacts:
    """A build whose CUDA is that of the JetPack that it is made for."""
    image = with_build(given, wish, None, line)
    return replace(image, own_build=True, cpu_architectures=image.cpu_architectures or ("arm64",))


def _of_tables(reader: Reader, given: Given, wish: Wish) -> tuple[ImageFacts, ...]:
    month = dates.month_in(f"{given.version} {given.build}") if wish.version is None else ""
    if month and (dated := _of_month(reader, given, wish, month)):
        return dated
    choice = _choice(given, wish)
    if not choice.builds:
        rows = () if wish.from_source else rows_of(wish.program, wish.program_version, f"{given.name} {given.build}")
        lines = wish.cuda or given.around or tuple(row.cuda for row in rows if row.cuda is not None)[:1]
        lines = lines or cuda_made_with(of_this_build(given.build)) or readings.read_ptx_isa(given.build)
        if not lines and given.code is not None and given.code.cubins:
            return _by_any_cuda(reader, given, wish, given.code)
        has_facts = lines or any(row.linux_floor or row.windows_floor for row in rows)
        unknown_build = None if has_facts or wish.framework in ENCODERS else _no_build(wish)
        if unknown_build is not None and given.code is not None:
            reader.notes.append(unknown_build)
            unknown_build = None
        is_known = bool(rows) or wish.framework in ENCODERS
        images = tuple(
            replace(image, unknown_build=unknown_build, is_opaque=image.is_opaque and not is_known)
            for line in each_of(reader, lines, given.code)
            for image in (with_build(given, wish, None, line),)
        )
        return tuple(map(_of_ggml, images)) if _is_published_ggml(given, wish) else images
    _say_how(reader, given, wish, choice)
    builds = _able(choice.builds, given)
    images = tuple(with_build(given, wish, build, build.cuda, is_likely=choice.is_likely) for build in builds)
    # A user's own build is for other GPUs than the wheel of the same release.
    if wish.from_source and wish.version and not wish.for_jetson:
        images = tuple(replace(image, code=given.code, own_build=True) for image in images)
    by_driver = wish.framework in TAKEN_BY_DRIVER and not wish.cuda and len(choice.builds) > 1
    return tuple(replace(image, taken_by_driver=by_driver) for image in images) if by_driver else images


def _able(builds: tuple[Build, ...], given: Given) -> tuple[Build, ...]:
    """The possible builds whose CUDA can generate code for the listed targets; all if none can."""
    if not given.lists_targets or given.code is None or given.code.cubins is None:
        return builds
    code = given.code
    return tuple(build for build in builds if build.cuda is None or can_make(build.cuda, code)) or builds


def _of_month(reader: Reader, given: Given, wish: Wish, month: str) -> tuple[ImageFacts, ...]:
    """The release that was the newest in a month, or came out in it; empty where no table has it."""
    is_nightly = dates.is_nightly(f"{given.version} {given.build}")
    versions = dates.released_by(wish.framework, month, and_next=is_nightly)
    choices = [_choice(given, replace(wish, version=version)) for version in versions]
    builds = tuple(dict.fromkeys(build for choice in choices for build in choice.builds))
    if not builds:
        return ()
    shown = " or ".join(map(str, versions))
    fact = tables.release_dates()[wish.framework][0].origin.fact(f"releases of {wish.framework} by their days")
    which = "between which it was built" if is_nightly else "which was the newest then or came in that month"
    message = f"{wish.framework} of {month} is read as {shown}, {which}"
    reader.notes.append(note("R-FRAMEWORK", message, fact))
    if len(builds) > 1:
        reader.open.append(Axis("framework_version", f"which release of {wish.framework} it is ({shown})"))
    return tuple(with_build(given, wish, build, build.cuda) for build in builds)


def _by_any_cuda(reader: Reader, given: Given, wish: Wish, code: Code) -> tuple[ImageFacts, ...]:
    """Targets are listed, but not the CUDA that made them: any that knows them, if the answer is the same."""
    if wish.system in {TEGRA, JETSON}:
        return (_for_jetson(given, wish, None),)
    era = era_of(month) if (month := dates.month_in(given.build)) else None
    lines = era.lines if era is not None else _all_lines()
    able = tuple(cuda for cuda in lines if can_make(cuda, code))
    if not able:
        reader.notes.append(_no_build(wish))
        return (with_build(given, wish, None, None),)
    reader.open.append(Axis("cuda", f"which CUDA {wish.framework} is built by"))
    return tuple(with_build(given, wish, None, line) for line in able)


@cache
def _all_lines() -> tuple[CudaVersion, ...]:
    return tuple(sorted({toolkit.version.line for toolkit in tables.toolkits()}))


_PUBLISHED = pattern(
    r"\b(?:released?|releases|binary|binaries|pre-?built|pre-?compiled|official|zip|portable|docker|image|wheels?)\b"
)


def _is_published_ggml(given: Given, wish: Wish) -> bool:
    """From a project that publishes programs, or so described; on Linux, users compile llama.cpp and its like."""
    if wish.framework not in OF_GGML or wish.from_source:
        return False
    is_named = given.named is not None or bool(_PUBLISHED.search(given.build.lower()))
    return is_named or wish.system == WINDOWS or wish.framework not in COMPILED_AT_HOME


def _of_ggml(image: ImageFacts) -> ImageFacts:
    """Add the device code of a published build of ggml's family; not of a user's own build."""
    if image.code is not None or image.cuda is None or is_of_ones_own(image.remarks):
        return image
    return replace(image, code=code_of(image.cuda, image.framework, image.framework_version))


def _is_of_jetpack(given: Given, wish: Wish) -> bool:
    """Is it made for Jetson: a part of its JetPack, one of NVIDIA's wheels, or built there?"""
    if given.code or wish.from_index or wish.cuda or wish.conda:
        return False
    if given.named is not None and given.named.jetson and wish.version is None:
        return True  # an image for a JetPack holds builds for it
    return wish.framework in _MADE_FOR_JETPACK or wish.framework not in tables.framework_rows()


def _is_from_pypi_on_windows(given: Given, wish: Wish) -> bool:
    """No other source than PyPI is named, which has torch for Windows without CUDA."""
    if wish.framework != "pytorch" or not wish.system.startswith("windows") or wish.from_index == "other":
        return False
    return not (wish.conda or wish.cuda or wish.from_source or given.around or given.code)


def _gpu_free(given: Given, wish: Wish, fact: Fact) -> ImageFacts:
    return replace(with_build(given, wish, None, None), gpu_free=True, cuda_fact=fact)


def _has_no_gpu(given: Given) -> bool:
    """Is it an image without CUDA, and without a word on a build that was added?"""
    named = given.named
    return named is not None and named.gpu_free and not given.framework and not given.around


def _is_own_build(given: Given, wish: Wish) -> bool:
    """Not one that the project publishes: then the case counts, and no table."""
    named = given.named
    if named is not None and named.jetson and not given.framework:
        return True
    if not given.around:
        return False
    by_publisher = named is not None and named.own_build and not given.framework
    listed = given.lists_targets and bool(given.cudas) and not wish.cuda
    return wish.from_source or by_publisher or listed


def _choice(given: Given, wish: Wish) -> Choice:
    narrowed = wish
    stated = set(lines_of(given.cudas))
    if len(wish.cuda) > 1 and stated and stated <= set(wish.cuda):  # cuda12, and beside it 12.4
        wish = narrowed = replace(wish, cuda=tuple(dict.fromkeys(lines_of(given.cudas))))
    if not wish.cuda and given.around and _names_the_build(given, wish):
        narrowed = replace(wish, cuda=tuple(dict.fromkeys(lines_of(given.around))))
    choice = choose(narrowed)
    if choice.builds or narrowed is wish:
        return choice
    # Without a build for the CUDA around it, the framework's own CUDA counts.
    if not given.cudas or (wish.framework in _ALL_BUILDS_LISTED and wish.version):
        return choose(wish)
    own = choose(wish)
    in_own_image = given.named is not None and bool(given.named.framework)
    return own if _loads_other_libraries(wish, own) and not in_own_image else choice


def _loads_other_libraries(wish: Wish, own: Choice) -> bool:
    """Does a release for one CUDA, as far as known, load CUDA by the names that it was linked with?"""
    majors = {build.cuda and build.cuda.major for build in own.builds}
    is_known = (len(own.builds) == 1 and not own.near) or wish.framework in _AS_WHEELS
    return is_known and len(majors) == 1 and None not in majors and wish.version is not None and not brings_cuda(wish)


def _names_the_build(given: Given, wish: Wish) -> bool:
    """Does the CUDA around it identify the build? In a framework's own image; not for a wheel in another one."""
    named = given.named
    if named is None or given.cudas:
        return True
    return bool(named.framework) and ALIASES.get(named.framework, named.framework) == wish.framework


def _no_build(wish: Wish) -> Finding:
    shown = f"{wish.framework} {wish.version}" if wish.version else wish.framework
    fact = Fact(f"no table has builds of {shown}", "framework.csv", "", verified=False)
    return unknown("R-FRAMEWORK", f"it is not known which CUDA {shown} is built for", fact)


def _say_how(reader: Reader, given: Given, wish: Wish, choice: Choice) -> None:
    build = choice.builds[0]
    if len(choice.builds) > 1:
        shown = ", ".join(dict.fromkeys(f"{each.version} {each.variant}" for each in choice.builds[:3]))
        field = "framework_version" if wish.version is None else "build"
        reader.open.append(Axis(field, f"which build of {wish.framework} it is ({shown}, …)"))
    if choice.near:
        fact = build.origin.fact(f"builds of {wish.framework} {choice.near}", "cuda")
        message = f"{wish.framework} {wish.version} is not in the tables; read as {choice.near}, the nearest that are"
        reader.notes.append(note("R-FRAMEWORK", message, fact))
    own = {each.cuda.line for each in choice.builds if each.cuda}
    if given.around and own and brings_cuda(wish) and not own & set(lines_of(given.around)):
        fact = build.origin.fact(f"{wish.framework} {build.version} {build.variant} brings CUDA {build.cuda}", "cuda")
        message = (
            f"the wheel brings CUDA {build.cuda}, and CUDA {given.around[-1]} is around it: the wheel's own counts, "
            "because it is what the program loads"
        )
        reader.notes.append(note("R-FRAMEWORK", message, fact))
