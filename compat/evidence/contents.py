"""The image part of a case to images that it may mean: CUDA, framework build, device code, libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from compat.evidence.case import Case
from compat.evidence.device_code import UNREAD_TARGETS, made_by_default, read_code, read_compression, without_ptx
from compat.evidence.framework_images import each_of, images_of
from compat.evidence.image_facts import Given, lines_of, plain_image
from compat.evidence.problems import Reader, Reading
from compat.evidence.prose.build_words import of_this_build
from compat.evidence.prose.driver_words import runs_nvidia_smi_alone, without_driver
from compat.evidence.prose.image_programs import runs_on_torch
from compat.evidence.prose.patterns import pattern
from compat.evidence.prose.references import as_reference
from compat.evidence.reading import typed as readings
from compat.evidence.reading import words
from compat.evidence.reading.builds import Wish, cuda_made_with, read_wish
from compat.evidence.reading.distributions import ALIASES
from compat.evidence.reading.image_name import BY_NAME, ImageName, read_image
from compat.facts import tables
from compat.facts.rows import JETSON, LINUX, TEGRA
from compat.rules.rule import note, unknown, warn
from compat.values.model import THE_CASE, Code, Fact, ImageFacts, Platform, PoolFacts, Present
from compat.values.versions import ComputeCapability, CudaVersion, JetsonVersion, VersionError

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
    case = as_reference(case, system)
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
        images = tuple(plain_image(given, cuda) for cuda in each_of(reader, given.around, None))
        return reader.done(tuple(replace(image, is_of_driver=True) for image in images))
    _doubt(reader, given)
    return reader.done(_of_cuda(reader, given) if wish is None else images_of(reader, given, wish))


def _of_tag(named: ImageName | None) -> Code | None:
    """Targets that the tag itself names, such as `server-sm120`; those in tables are looked up later."""
    if named is None or named.targets is None or named.fact.source != BY_NAME:
        return None
    return without_ptx(named.targets.cubins or ())


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
    return tuple(plain_image(given, cuda) for cuda in each_of(reader, found, given.code))


def read_cuda_of(build: str) -> tuple[CudaVersion, ...]:
    """CUDA that a free text such as `pip cu118 wheel` names; empty where it names none."""
    wish = read_wish("pytorch", "", build)
    return (wish.cuda if wish else ()) or cuda_made_with(of_this_build(build))


def read_variables(text: str) -> Iterator[tuple[str, str]]:
    """`KEY=VALUE` pairs between `;`, line ends or blanks; requirement clauses keep their blanks and commas."""
    for part in re.split(r"[;\n]|\s+(?=[A-Z][A-Z0-9_]+=)", text):
        key, equals, value = part.strip().partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", key.strip()):
            yield key.strip(), value.strip().strip("\"'")
