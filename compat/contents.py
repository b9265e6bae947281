"""The image part of a case to images that it may mean: CUDA, framework build, device code, libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache, lru_cache

from packaging.version import Version

from compat import dates, readings, tables, words
from compat.build_words import of_this_build
from compat.builds import (
    ENCODERS,
    OPENCL,
    TAKEN_BY_DRIVER,
    WINDOWS,
    Choice,
    Wish,
    choose,
    cuda_made_with,
    is_of_ones_own,
    read_wish,
)
from compat.case import Case
from compat.device_code import UNREAD_TARGETS, can_make, made_by_default, read_code, read_compression, without_ptx
from compat.distributions import ALIASES
from compat.driver_words import runs_nvidia_smi_alone, without_driver
from compat.eras import era_of
from compat.ggml import COMPILED_AT_HOME, OF_GGML, code_of
from compat.image_facts import Given, brings_cuda, lines_of, plain_image, with_build
from compat.image_programs import runs_on_torch
from compat.images import BY_NAME, ImageName, read_image
from compat.model import THE_CASE, Code, Fact, Finding, ImageFacts, Platform, PoolFacts, Present
from compat.patterns import pattern
from compat.programs import rows_of
from compat.reading import AS_GIVEN, Axis, Reader, Reading
from compat.rows import JETSON, LINUX, TEGRA, Build
from compat.rules.rule import note, unknown, warn
from compat.versions import ComputeCapability, CudaVersion, JetsonVersion, VersionError

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
    "https://registry.khronos.org/OpenCL/specs/3.0-unified/html/OpenCL_API.html#_compiling_opencl_programs",
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
_MONTHLY = pattern(r"(?:ngc |nvidia )?((?:1[7-9]|[23]\d)\.(?:0[1-9]|1[0-2]))(?:-(?:tf\d-)?py\d)?")
_IMAGE_OF_MONTH = {
    "pytorch": "nvcr.io/nvidia/pytorch:{}-py3",
    "tensorflow": "nvcr.io/nvidia/tensorflow:{}-tf2-py3",
    "jax": "nvcr.io/nvidia/jax:{}-py3",
    "mxnet": "nvcr.io/nvidia/mxnet:{}-py3",
    "paddle": "nvcr.io/nvidia/paddlepaddle:{}-py3",
    "tensorrt": "nvcr.io/nvidia/tensorrt:{}-py3",
    "tritonserver": "nvcr.io/nvidia/tritonserver:{}-py3",
}
_NGC_IN_WORDS = pattern(r"(?:nvidia )?ngc[\s:/]+([a-z]+)[\s:]+(\d\d\.\d\d(?:-[\w.-]+)?)", re.IGNORECASE)
# Their copies without a registry, or a tag without the version of Python: `tritonserver:23.10`, `nvidia/pytorch:21.08`.
_SHORT_OF_MONTH = pattern(
    r"(?:nvidia/|nvcr\.io/nvidia/)?(pytorch|tensorflow|tritonserver|tensorrt|tensorrtserver|mxnet|paddlepaddle|jax)"
    r":(\d\d\.(?:0[1-9]|1[0-2]))(?:-py3)?"
)
# `NGC TensorFlow container 20.08`, `Triton Release 20.08 NGC container`, `NVIDIA Release 20.09 (build 16016295)`.
_MONTH_IN_WORDS = pattern(
    r"\b(?:(?:ngc|nvidia|nvcr\S*)\b[^;]{0,30}?(?:container|image|release|ngc)|(?:container|image|release)\b(?=[^;]*\b(?:ngc|nvcr)))"
    r"[^;\d]{0,20}\b(?P<month>(?:1[7-9]|2\d)\.(?:0[1-9]|1[0-2]))\b(?!\.\d)",
    re.IGNORECASE,
)
_TF1 = pattern(r"\btf[ -]?1\b|\btensorflow 1\b", re.IGNORECASE)
_SERVER = pattern(r"tritonserver|tensorrtserver|trtis|trtserver|inference server|triton server")
_TF2_SINCE = "19.12"
_PYTHON_SINCE = "18.01"  # the version of Python is part of a tag from this month on
_FIRST_TRITON = "20.03"  # before, it was called TensorRT Inference Server
_VARIABLES = pattern(r"\b(?:NVIDIA_\w+|CUDA_VISIBLE_DEVICES|LD_LIBRARY_PATH|VLLM_\w+)=[^;]+")
_LIKE_SERVERS, _THOR = JetsonVersion(38, 0), ComputeCapability(11, 0)


def system_of(pool: PoolFacts) -> str:
    """The system that wheels are for, as distributions write it."""
    if pool.cpu_architecture == "arm64":
        on_jetson = TEGRA if is_tegra(pool) else JETSON
        return on_jetson if pool.platform is Platform.JETSON else "linux aarch64"
    return "windows x86_64" if pool.platform is Platform.WINDOWS and pool.host != "wsl" else LINUX


def is_tegra(pool: PoolFacts) -> bool:
    """A Jetson on which CUDA is that of its JetPack; from JetPack 7 on it takes what arm64 servers take."""
    if pool.platform is not Platform.JETSON:
        return False
    return pool.jetson < _LIKE_SERVERS if pool.jetson is not None else pool.gpu.capability < _THOR


@lru_cache(1024)  # a matrix asks for each image on every pool
def read_images(case: Case, system: str, *, lenient: bool = True) -> Reading[ImageFacts]:
    """Images that a case may mean: one for each CUDA line or framework build that its words leave open.

    `system` is the one that wheels are for: an arm64 host gets arm64 wheels, plain Windows those of Windows.
    With `lenient`, a field that cannot be read counts as absent, with a note, unless nothing to run is left.
    """
    reader = Reader(lenient=lenient)
    if case.build and (build := without_driver(case.build)) != case.build:
        case = replace(case, build=build)
    case = _monthly(_of_server(_with_month(_with_reference(_of_nvidias_build(_of_deepstream(case, system), system)))))
    named = reader.read("image", case.image, read_image)
    case = _as_named(case, named)
    in_tag = _of_tag(named)
    given = Given(
        name=case.image or " ".join(filter(None, (case.framework, case.framework_version, case.build))) or "the image",
        named=named,
        cudas=reader.read("cuda", case.cuda, readings.read_cudas) or (),
        code=read_code(reader, case) or in_tag,
        compressed=read_compression(reader, case),
        lists_targets=bool(case.sm_list or case.ptx or in_tag),
        framework=case.framework,
        version=case.framework_version,
        build=case.build,
        cudnn=reader.read("cudnn", case.cudnn, readings.read_release),
        compat=reader.one_of("cuda_compat", words.presence(case.cuda_compat), tuple(Present)),
        puts_compat_first=words.is_put_first(case.cuda_compat),
        glibc=reader.read("image_glibc", case.image_glibc, readings.read_release),
        environment=(*read_variables(";".join(_VARIABLES.findall(case.build))), *read_variables(case.env)),
    )
    if given.code is None:
        given = replace(given, code=made_by_default(case.build, given.cudas))
    wish = _wish(reader, given, case.framework_version, system)
    if reader.problems:
        return reader.done(())
    code = None if given.code is UNREAD_TARGETS else given.code
    if reader.passed_over and not any((named, given.cudas, wish, code, given.cudnn, case.env)):
        reader.essential()
        return reader.done(())
    if not any((case.image, given.cudas, wish, given.code, given.cudnn, case.build, case.env)):
        fact = Fact("no image, CUDA line, framework or list of targets was given", THE_CASE, "")
        message = "nothing says what shall run: write image, cuda, framework or sm_list"
        reader.notes.append(unknown("R-ARCH", message, fact))
    if not case.framework and runs_nvidia_smi_alone(given.build):
        images = tuple(plain_image(given, cuda) for cuda in _each_of(reader, given.around, None))
        return reader.done(tuple(replace(image, is_of_driver=True) for image in images))
    _doubt(reader, given)
    return reader.done(_of_cuda(reader, given) if wish is None else _of_framework(reader, given, wish))


def _of_tag(named: ImageName | None) -> Code | None:
    """Targets that the tag itself names, such as `server-sm120`; those in tables are looked up later."""
    if named is None or named.targets is None or named.fact.source != BY_NAME:
        return None
    return without_ptx(named.targets.cubins or ())


_REMARK = pattern(r"\s*\((?P<remark>[^()]{2,80})\)\s*$")


def without_remark(case: Case) -> Case:
    """`nvidia/cuda (latest, April 2018)`: text in brackets after a reference describes the build."""
    if (match := _REMARK.search(case.image)) is None:
        return case
    build = "; ".join(filter(None, (case.build, match["remark"])))
    return replace(case, image=case.image[: match.start()], build=build)


def _with_reference(case: Case) -> Case:
    """`NGC caffe 18.07-py2` and `tritonserver:23.10` as the reference of that image."""
    if (short := _SHORT_OF_MONTH.fullmatch(case.image.strip().lower())) is not None:
        variant = "-tf2-py3" if short[1] == "tensorflow" and short[2] >= _TF2_SINCE else "-py3"
        variant = variant if short[2] >= _PYTHON_SINCE else ""
        return replace(case, image=f"nvcr.io/nvidia/{short[1]}:{short[2]}{variant}")
    words_of = _NGC_IN_WORDS.fullmatch(case.image.strip())
    return case if words_of is None else replace(case, image=f"nvcr.io/nvidia/{words_of[1].lower()}:{words_of[2]}")


_NVIDIAS = pattern(r"\d(?:\.\d+)+(?:a0)?\+(?:[0-9a-f]+\.)?nv(?P<month>\d\d\.\d\d)", re.IGNORECASE)


def _of_nvidias_build(case: Case, system: str) -> Case:
    """`2.4.0a0+f70bd71a48.nv24.06` is in NVIDIA's image of that month, and on a Jetson a wheel for it."""
    if system in {TEGRA, JETSON} or case.image or (found := _NVIDIAS.fullmatch(case.framework_version.strip())) is None:
        return case
    return replace(case, framework_version=found["month"])


def _of_deepstream(case: Case, system: str) -> Case:
    """DeepStream on a Jetson is of one JetPack, as NVIDIA's image of that release is."""
    is_deepstream = case.framework.strip().lower() == "deepstream" and not case.image
    number = re.match(r"\d+\.\d+(?:\.\d+)?", case.framework_version.strip())
    if system not in {TEGRA, JETSON} or not is_deepstream or number is None or _MADE_THERE.search(case.build):
        return case
    image = f"nvcr.io/nvidia/deepstream-l4t:{number[0]}"
    if (named := read_image(image)) is None or named.l4t is None:
        return case
    return replace(case, image=image, framework="", framework_version="")


def _with_month(case: Case) -> Case:
    """The month of an image of NGC that the words of the build name, in place of the framework's own version."""
    found = {match["month"] for match in _MONTH_IN_WORDS.finditer(case.build)} if not case.image else set()
    return replace(case, framework_version=found.pop()) if len(found) == 1 and case.framework else case


def _monthly(case: Case) -> Case:
    """PyTorch 24.05 is no release of PyTorch but NVIDIA's image of that month, whatever its copy is called here."""
    month = _MONTHLY.fullmatch(case.framework_version.strip().lower())
    if month is not None and _is_copy_of_month(case.image, month[1]):
        case = replace(case, image="")
    image = _IMAGE_OF_MONTH.get(ALIASES.get(re.sub(r"[^a-z0-9]", "", case.framework.lower()), ""))
    if month is None or case.image or image is None:
        return case
    if "-tf2-" in image and (month[1] < _TF2_SINCE or _TF1.search(case.build)):
        image = image.replace("-tf2-py3", "-py3" if month[1] < _TF2_SINCE else "-tf1-py3")
    if "tritonserver" in image and month[1] < _FIRST_TRITON:
        image = image.replace("tritonserver", "tensorrtserver")
    return replace(case, image=image.format(month[1]), framework="", framework_version="")


def _is_copy_of_month(image: str, month: str) -> bool:
    """`trtis19_09`: a local name, without a registry, for an image of that month."""
    digits = re.sub(r"[^\d]", "", month)
    return bool(image) and "/" not in image and digits in re.sub(r"[^\da-z]", "", image.lower())


def _of_server(case: Case) -> Case:
    """`triton` beside an image of the server, or with the number of a month, is not the compiler of that name."""
    if case.framework.strip().lower() != "triton":
        return case
    text = f"{case.image} {case.build}".lower()
    is_month = _MONTHLY.fullmatch(case.framework_version.strip().lower()) is not None
    return replace(case, framework="tritonserver") if is_month or _SERVER.search(text) else case


_INSTALLED = pattern(
    r"\+\s*cu|\bcu\d{2,3}\b|\b(pip3?|conda|wheels?|whl|source|nightly|dev|compiled|built|installed)\b|\.dev"
)


def _as_named(case: Case, named: ImageName | None) -> Case:
    """A publisher's image of a framework, named with the framework but no version, is one thing stated twice."""
    if named is None or not (named.own_build or named.jetson) or not named.framework:
        return case
    key = re.sub(r"[^a-z0-9]", "", case.framework.lower())
    is_same = ALIASES.get(key, key) == ALIASES.get(named.framework, named.framework)
    number = re.match(r"[\w.-]*", case.framework_version.strip().lower())
    is_of_image = not case.framework_version or named.jetson or (number and number[0] and number[0] in case.image)
    # A plain number beside an image of NGC is that of NVIDIA's own build in it, whose CUDA is the month's.
    is_of_image = is_of_image or not _INSTALLED.search(f"{case.framework_version} {case.build}".lower())
    return replace(case, framework="", framework_version="") if is_same and is_of_image else case


def _doubt(reader: Reader, given: Given) -> None:
    """A tag that moves, or a note from memory, is not what the image holds today."""
    named = given.named
    if named is None or given.cudas or given.framework:
        return
    if named.is_moving:
        message = f"{named.reference} is given to another image now and then: what it holds today is not known"
        reader.notes.append(unknown("R-FRAMEWORK", message, replace(named.fact, verified=False)))
    elif named.is_from_memory and named.is_of_another:
        message = f"it is not known which CUDA {named.reference} holds: only other images of its family were read"
        reader.notes.append(unknown("R-FRAMEWORK", message, replace(named.fact, verified=False)))
    elif named.is_from_memory:
        message = f"which CUDA {named.reference} holds is from memory, not verified"
        reader.notes.append(warn("R-FRAMEWORK", message, replace(named.fact, verified=False)))


def _wish(reader: Reader, given: Given, version: str, system: str) -> Wish | None:
    framework = given.framework
    if not framework and given.named is not None and given.named.framework:
        framework, version = given.named.framework, version or given.named.framework_version
    if runs_on_torch(framework):
        framework, version = "pytorch", _torch_in(given.build)
    if not version and given.named is None and (inside := _program_inside(given.build)):
        framework, version = inside
    if not framework and not given.build:
        return None
    field, text = ("framework_version", version) if version else ("framework", framework)
    try:
        wish = read_wish(framework, version, given.build)
    except VersionError as error:
        reader.problem(field, text, error.reason)
        wish = read_wish(framework, "", given.build, with_version=False) if reader.passed_over else None
    return None if wish is None else replace(wish, system=system)


# `Docker image of DeepVariant 1.8.0`: more than the framework that is in it.
_INSIDE = pattern(
    r"\b(?:image|container|bundle) of (?P<name>[a-z][\w.+-]*) v?(?P<version>\d+\.\d+(?:\.\d+)*)\b", re.IGNORECASE
)


_TORCH_IN = pattern(r"\b(?:py)?torch[ =:v]*(?P<version>\d+\.\d+(?:\.\d+)?(?:\+cu\d+)?)", re.IGNORECASE)


def _torch_in(build: str) -> str:
    """The release of PyTorch that the words of a build name; empty where they name none, or several."""
    found = {match["version"] for match in _TORCH_IN.finditer(build)}
    return found.pop() if len(found) == 1 else ""


def _program_inside(build: str) -> tuple[str, str] | None:
    """The program, and its release, whose image the words of the build name, if the tables know it."""
    if (match := _INSIDE.search(build)) is None:
        return None
    key = re.sub(r"[^a-z0-9]", "", match["name"].lower())
    return (match["name"], match["version"]) if ALIASES.get(key, key) in tables.programs() else None


def _of_cuda(reader: Reader, given: Given) -> tuple[ImageFacts, ...]:
    """No framework: the stated CUDA counts, or the one in the image's name."""
    named, found = given.named, given.around
    if not found and given.build:
        found = read_cuda_of(given.build)
    if (
        named is not None
        and given.cudas
        and named.cudas
        and not set(lines_of(given.cudas)) & set(lines_of(named.cudas))
    ):
        message = (
            f"the image's name says CUDA {named.cudas[-1]}, the case says {given.cudas[-1]}: what the case says counts"
        )
        reader.notes.append(note("R-FRAMEWORK", message, named.fact))
    return tuple(plain_image(given, cuda) for cuda in _each_of(reader, found, given.code))


def read_cuda_of(build: str) -> tuple[CudaVersion, ...]:
    """CUDA that a free text such as `pip cu118 wheel` names; empty where it names none."""
    wish = read_wish("pytorch", "", build)
    return (wish.cuda if wish else ()) or cuda_made_with(of_this_build(build))


def _each_of(reader: Reader, cudas: tuple[CudaVersion, ...], code: Code | None) -> tuple[CudaVersion | None, ...]:
    """CUDA lines that may be meant: for `12`, those that know the listed targets, if any does."""
    able = tuple(cuda for cuda in cudas if code is None or can_make(cuda, code)) if len(cudas) > 1 else cudas
    cudas = able or cudas
    if len(cudas) > 1:
        reader.open.append(Axis("cuda", f"which CUDA {cudas[0].major}.x it is"))
    return cudas or (None,)


def _of_framework(reader: Reader, given: Given, wish: Wish) -> tuple[ImageFacts, ...]:
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
        images = (with_build(given, wish, None, line) for line in _each_of(reader, given.around, given.code))
        return tuple(replace(image, own_build=True) for image in images)
    if wish.for_jetson:
        return tuple(_for_jetson(given, wish, line) for line in _each_of(reader, given.around or wish.cuda, given.code))
    if wish.system in {TEGRA, JETSON} and _MADE_THERE.search(given.build):
        return tuple(_for_jetson(given, wish, line) for line in _each_of(reader, given.around or wish.cuda, given.code))
    if wish.system == TEGRA and _is_of_jetpack(given, wish):
        message = f"{wish.framework} is taken for a build for the CUDA of the Jetson's JetPack"
        reader.notes.append(note("R-JETSON", f"{message}: those for servers do not serve it", _OF_JETPACK))
        return tuple(_for_jetson(given, wish, line) for line in _each_of(reader, given.around, given.code))
    return _of_tables(reader, given, wish)


# By the CUDA that its JetPack brings, where nothing else is stated.
_MADE_THERE = pattern(
    r"\b(?:built|compiled|made|generated|installed and built)\b[^.;]{0,40}\bon (?:the|this|that|my|its own) "
    r"(?:device|board|jetson|thor|orin|xavier|nano|tx[12]|module|machine|target)\b",
    re.IGNORECASE,
)
_OF_CUDA = pattern(r"\bcuda[- ]back-?end\b|\bbackend[: =]+cuda\b", re.IGNORECASE)


_BY_OPENCL = pattern(r"(?<!no )(?<!without )\bopencl\b", re.IGNORECASE)


def _is_of_opencl(given: Given, wish: Wish) -> bool:
    """Does it run on OpenCL instead of CUDA: an old release, or one without any CUDA around it?"""
    from_here = OPENCL.get(wish.framework)
    if from_here is None:
        is_said = _BY_OPENCL.search(given.build) is not None and "cuda" not in given.build.lower()
        return (
            is_said and not (wish.cuda or given.around or given.code) and wish.framework not in tables.framework_rows()
        )
    is_old = wish.version is not None and wish.version < from_here
    return (is_old and not _OF_CUDA.search(given.build)) or not (wish.cuda or given.around or given.code)


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
            for line in _each_of(reader, lines, given.code)
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


def read_variables(text: str) -> Iterator[tuple[str, str]]:
    """`KEY=VALUE` pairs between `;`, line ends or blanks; requirement clauses keep their blanks and commas."""
    for part in re.split(r"[;\n]|\s+(?=[A-Z][A-Z0-9_]+=)", text):
        key, equals, value = part.strip().partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", key.strip()):
            yield key.strip(), value.strip().strip("\"'")
