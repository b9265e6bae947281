"""The image part of a case to images that it may mean: CUDA, framework build, device code, libraries."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from packaging.version import Version

from compat import readings, tables
from compat.builds import LOADS_CUDA_FROM_OUTSIDE, Choice, Wish, choose, read_wish
from compat.case import Case
from compat.distributions import ALIASES
from compat.images import ImageName, read_image
from compat.model import Code, Fact, Finding, ImageFacts, Platform, PoolFacts, Present
from compat.pools import l4t_in
from compat.reading import AS_GIVEN, Axis, Reader, Reading
from compat.rows import Build
from compat.rules.rule import note, unknown, warn
from compat.versions import CudaVersion, VersionError

_PYPI_WINDOWS = Fact(
    "the wheels of torch for Windows on PyPI are built for the CPU",
    "https://github.com/pytorch/pytorch.github.io/pull/757",
    "2026-11-21",
)
AS_LISTED = Fact("the targets as given", "the case", "")
_UNTOLD = re.compile(r"\b(targets|architectures|arch(es)?) (are |is )?(unknown|not known)")
_AMD64 = re.compile(r"linux/amd64|\b(amd64|x86_64|x86-64)\b")
_ARM64 = re.compile(r"linux/arm64|\b(arm64|aarch64|sbsa)\b")


LINUX = "linux x86_64"


def system_of(pool: PoolFacts) -> str:
    """The system that wheels are for, as distributions write it."""
    if pool.cpu_architecture == "arm64":
        return "linux aarch64"
    return "windows x86_64" if pool.platform is Platform.WINDOWS and pool.host != "wsl" else LINUX


def read_images(case: Case, system: str) -> Reading[ImageFacts]:
    """Images that a case may mean: one for each CUDA line or framework build that its words leave open.

    `system` is the one that wheels are for: an arm64 host gets arm64 wheels, plain Windows those of Windows.
    """
    reader = Reader()
    named = reader.read("image", case.image, read_image)
    given = Given(
        name=case.image or " ".join(filter(None, (case.framework, case.framework_version, case.build))) or "the image",
        named=named,
        cudas=reader.read("cuda", case.cuda, readings.read_cudas) or (),
        code=_targets(reader, case),
        lists_targets=bool(case.sm_list or case.ptx),
        framework=case.framework,
        build=case.build,
        cudnn=reader.read("cudnn", case.cudnn, readings.read_release),
        compat=reader.one_of("cuda_compat", case.cuda_compat, tuple(Present)),
        glibc=reader.read("image_glibc", case.image_glibc, readings.read_release),
        environment=tuple(read_variables(case.env)),
    )
    wish = _wish(reader, given, case.framework_version, system)
    if reader.problems:
        return reader.done(())
    if not any((case.image, given.cudas, wish, given.code, given.cudnn, case.build, case.env)):
        fact = Fact("no image, CUDA line, framework or list of targets was given", "the case", "")
        told = "nothing says what shall run: write image, cuda, framework or sm_list"
        reader.notes.append(unknown("R-ARCH", told, fact))
    _doubt(reader, given)
    return reader.done(_of_cuda(reader, given) if wish is None else _of_framework(reader, given, wish))


@dataclass(frozen=True, slots=True)
class Given:
    """The image part of a case, each field read."""

    name: str
    named: ImageName | None
    cudas: tuple[CudaVersion, ...]
    code: Code | None
    lists_targets: bool
    framework: str
    build: str
    cudnn: Version | None
    compat: str
    glibc: Version | None
    environment: tuple[tuple[str, str], ...]

    @property
    def around(self) -> tuple[CudaVersion, ...]:
        """CUDA that is there beside what a framework brings: said, or in the image's name."""
        return self.cudas or (self.named.cudas if self.named else ())


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


def _targets(reader: Reader, case: Case) -> Code | None:
    build = case.build
    if _UNTOLD.search(build.lower()):
        return Code(None, None, Fact("the targets are said to be unknown", "the case", ""))
    listed = reader.read("sm_list", case.sm_list, readings.read_targets)
    written = reader.read("ptx", case.ptx, _read_ptx)
    cubins = listed.cubins if listed else None
    shown_ptx = written.ptx if written else (listed.ptx if listed else None)
    if cubins is not None and shown_ptx is None and _is_arch_list(case):
        shown_ptx = ()
    if cubins is None and shown_ptx is None and build:
        try:
            found = readings.read_targets(build, bare=False)
        except VersionError as error:
            reader.problem("build", build, error.reason)
            return None
        if found.cubins is None and not found.ptx:
            return None
        cubins, shown_ptx = found.cubins, found.ptx
    if cubins is None and shown_ptx is None:
        return None
    return Code(cubins, shown_ptx, AS_LISTED)


def _is_arch_list(case: Case) -> bool:
    """`sm_50 sm_60 …` of PyTorch: what `torch.cuda.get_arch_list()` prints, which has compute_… where there is PTX.

    Source: github:pytorch/pytorch torch/cuda/__init__.py (get_arch_list, _check_cubins).
    """
    return "torch" in case.framework.lower() and bool(re.search(r"\bsm_\d", case.sm_list.lower()))


def _read_ptx(text: str) -> readings.Targets:
    if text.lower().strip() in {"none", "no", "false", "0"}:
        return readings.Targets(None, ())
    found = readings.read_targets(text)
    return readings.Targets(None, found.ptx if found.ptx is not None else found.cubins)


def _wish(reader: Reader, given: Given, version: str, system: str) -> Wish | None:
    framework = given.framework
    if not framework and given.named is not None and given.named.framework:
        framework, version = given.named.framework, version or given.named.framework_version
    if not framework and not given.build:
        return None
    try:
        wish = read_wish(framework, version, given.build)
    except VersionError as error:
        reader.problem("framework_version", version, error.reason)
        return None
    return None if wish is None else replace(wish, system=system)


def _of_cuda(reader: Reader, given: Given) -> tuple[ImageFacts, ...]:
    """No framework: what counts is the CUDA that was said, or the one in the image's name."""
    named, found = given.named, given.around
    if not found and given.build:
        found = read_cuda_of(given.build)
    if named is not None and given.cudas and named.cudas and not set(_lines(given.cudas)) & set(_lines(named.cudas)):
        message = (
            f"the image's name says CUDA {named.cudas[-1]}, the case says {given.cudas[-1]}: what the case says counts"
        )
        reader.notes.append(note("R-FRAMEWORK", message, named.fact))
    return tuple(_image(given, cuda) for cuda in _each_of(reader, found))


def read_cuda_of(build: str) -> tuple[CudaVersion, ...]:
    """CUDA that a free text such as `pip cu118 wheel` names; empty where it names none."""
    wish = read_wish("pytorch", "", build)
    return wish.cuda if wish else ()


def _each_of(reader: Reader, cudas: tuple[CudaVersion, ...]) -> tuple[CudaVersion | None, ...]:
    if len(cudas) > 1:
        reader.open.append(Axis("cuda", f"which CUDA {cudas[0].major}.x it is"))
    return cudas or (None,)


def _of_framework(reader: Reader, given: Given, wish: Wish) -> tuple[ImageFacts, ...]:
    if _has_no_gpu(given):
        assert given.named is not None  # noqa: S101 - asked by `_has_no_gpu`
        return (replace(_gpu_free(given, wish, given.named.fact), is_whole=True),)
    if wish.cpu_only:
        return (_gpu_free(given, wish, AS_GIVEN),)
    if _is_from_pypi_on_windows(given, wish):
        if wish.from_index == "pypi":
            return (_gpu_free(given, wish, _PYPI_WINDOWS),)
        message = "pip on Windows takes a build for the CPU, unless an index such as …/whl/cu121 is named"
        reader.notes.append(warn("R-FRAMEWORK", message, _PYPI_WINDOWS))
    if _is_own_build(given, wish):
        images = (_with_build(given, wish, None, line) for line in _each_of(reader, given.around))
        return tuple(replace(image, own_build=True) for image in images)
    choice = _choice(given, wish)
    if not choice.builds:
        lines = wish.cuda or given.around
        if not lines:
            reader.notes.append(_no_build(wish))
        return tuple(_with_build(given, wish, None, line) for line in _each_of(reader, lines))
    _say_how(reader, given, wish, choice)
    return tuple(_with_build(given, wish, build, build.cuda, near=choice.near) for build in choice.builds)


def _is_from_pypi_on_windows(given: Given, wish: Wish) -> bool:
    """Nothing says another place than PyPI, which has torch for Windows without CUDA."""
    if wish.framework != "pytorch" or not wish.system.startswith("windows") or wish.from_index == "other":
        return False
    return not (wish.conda or wish.cuda or wish.from_source or given.around or given.code)


def _gpu_free(given: Given, wish: Wish, fact: Fact) -> ImageFacts:
    return replace(_with_build(given, wish, None, None), gpu_free=True, cuda_fact=fact)


def _has_no_gpu(given: Given) -> bool:
    """An image without CUDA, and nothing said of a build that somebody put into it."""
    named = given.named
    return named is not None and named.gpu_free and not given.framework and not given.around


def _is_own_build(given: Given, wish: Wish) -> bool:
    """Not one that the project publishes: then what was said counts, and no table."""
    named = given.named
    if named is not None and named.jetson and not given.framework:
        return True
    if not given.around:
        return False
    by_publisher = named is not None and named.own_build and not given.framework
    listed = given.lists_targets and bool(given.cudas) and not wish.cuda
    return wish.from_source or by_publisher or listed


def _choice(given: Given, wish: Wish) -> Choice:
    asked = wish
    if not wish.cuda and given.around and _names_the_build(given, wish):
        asked = replace(wish, cuda=tuple(dict.fromkeys(_lines(given.around))))
    choice = choose(asked)
    if choice.builds or asked is wish:
        return choice
    # Wheels of PyTorch are all in the tables: where there is none for the CUDA that is there, its own counts.
    return choose(wish) if not given.cudas or (wish.framework == "pytorch" and wish.version) else choice


def _names_the_build(given: Given, wish: Wish) -> bool:
    """Does the CUDA around say which build it is? In a framework's own image; not for a wheel in a foreign one."""
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
        message = f"{wish.framework} {wish.version} is not in the tables; read as {choice.near}, the nearest older one"
        reader.notes.append(note("R-FRAMEWORK", message, fact))
    own = {each.cuda.line for each in choice.builds if each.cuda}
    if given.around and own and _brings_cuda(wish) and not own & set(_lines(given.around)):
        fact = build.origin.fact(f"{wish.framework} {build.version} {build.variant} brings CUDA {build.cuda}", "cuda")
        message = (
            f"the wheel brings CUDA {build.cuda}, and CUDA {given.around[-1]} is around it: the wheel's own counts, "
            "because it is what the program loads"
        )
        reader.notes.append(note("R-FRAMEWORK", message, fact))


def _with_build(
    given: Given, wish: Wish, build: Build | None, own: CudaVersion | None, *, near: str = ""
) -> ImageFacts:
    """The image with a framework in it: a build of the tables, or one of which only the CUDA is known."""
    brings, around = _brings_cuda(wish), given.around
    loaded = own
    if not brings and around and own is not None and around[0].major == own.major:
        loaded = around[0]  # libraries of the same major, from the image
    image = _image(given, loaded)
    with_build = replace(
        image,
        built_with=own,
        code=image.code if given.code or build is None else code_of(build, near) or image.code,
        gpu_free=build is not None and build.variant == "cpu",
        framework=wish.framework,
        framework_version=wish.version,
        carries_cuda=brings,
        system_cuda=around[0] if around else None,
        compat_package=image.compat_package if given.named or given.compat else Present.NO,
    )
    return with_build if build is None else built(with_build, build, brings=brings)


def built(image: ImageFacts, build: Build, *, brings: bool) -> ImageFacts:
    """The image with what the tables say of a build."""
    return replace(
        image,
        framework_version=image.framework_version or _maybe_release(build.version),
        build=build.variant,
        cudnn=image.cudnn or (_maybe_release(build.cudnn) if brings else None),
        lowest_capability=build.lowest_capability or image.lowest_capability,
        stated_driver=build.stated_driver,
        cuda_fact=_cuda_fact(build),
    )


def _image(given: Given, cuda: CudaVersion | None) -> ImageFacts:
    """What was said of the image and what its name tells, with one CUDA line."""
    named = given.named
    plain = ImageFacts(
        name=given.name,
        cuda=cuda,
        cuda_fact=AS_GIVEN,
        code=given.code,
        cudnn=given.cudnn,
        compat_package=Present(given.compat) if given.compat else Present.NO,
        compat_line=given.cudas[-1].line if given.cudas else cuda,
        environment=given.environment,
        cpu_architectures=_architectures(given.build),
        glibc=given.glibc,
        remarks=given.build,
    )
    if named is None:
        return plain
    is_gpu_free = named.gpu_free and cuda is None and given.code is None
    told = Code(named.targets.cubins, named.targets.ptx, named.fact) if named.targets else None
    return replace(
        plain,
        cuda_fact=named.fact if is_gpu_free or (named.cudas and not given.cudas) else AS_GIVEN,
        code=given.code or told,
        gpu_free=is_gpu_free,
        is_whole=is_gpu_free,
        build="cpu" if is_gpu_free and named.is_for_cpu else "",
        cudnn=given.cudnn or _maybe_release(named.cudnn),
        nccl=_maybe_release(named.nccl),
        compat_package=plain.compat_package if given.compat or named.compat_package is not Present.YES else Present.YES,
        compat_line=named.cudas[-1].line if named.cudas else plain.compat_line,
        compat_branches=named.compat_branches,
        compat_use=named.compat_use,
        requires=named.requires,
        cpu_architectures=plain.cpu_architectures or named.cpu_architectures,
        glibc=given.glibc or _glibc_of(named),
        l4t=l4t_in(named.l4t),
        is_opaque=cuda is None and not named.cudas and not named.jetson and named.lowest_capability is None,
        lowest_capability=named.lowest_capability,
    )


def _brings_cuda(wish: Wish) -> bool:
    return wish.framework not in LOADS_CUDA_FROM_OUTSIDE if wish.brings_cuda is None else wish.brings_cuda


def _lines(cudas: tuple[CudaVersion, ...]) -> tuple[CudaVersion, ...]:
    return tuple(cuda.line for cuda in cudas)


def _maybe_release(text: str) -> Version | None:
    match = re.match(r"\d+(\.\d+)*", text.strip())
    return readings.read_release(match[0]) if match else None


def _architectures(build: str) -> tuple[str, ...]:
    """`linux/amd64 only`, `aarch64 wheel`: the processor that a build is said to be for."""
    text = build.lower()
    if _AMD64.search(text):
        return ("amd64",)
    return ("arm64",) if _ARM64.search(text) else ()


def _glibc_of(named: ImageName) -> Version | None:
    rows = tables.by_key("glibc", "os").get(named.os, ()) if named.os else ()
    return _maybe_release(rows[0]["glibc"]) if rows else None  # musl has no such number


def code_of(build: Build, near: str = "") -> Code | None:
    """Device code of a build as the tables have it; unverified where it is a neighbour's. None: not recorded."""
    if build.cubins is None and build.ptx is None and build.at_least is None:
        return None
    text = f"{build.framework} {build.version} {build.variant} ({build.distribution}) has code as listed, {build.basis}"
    cubins, ptx = build.origin.fact(text, "sm_list"), build.origin.fact(text, "ptx")
    if near:  # likely, not seen
        cubins, ptx = replace(cubins, verified=False), replace(ptx, verified=False)
    beside = code_of(build.beside) if build.beside else None
    return Code(build.cubins, build.ptx, cubins, build.at_least, ptx, beside, build.ptx_cuda)


def _cuda_fact(build: Build) -> Fact:
    text = f"{build.framework} {build.version} {build.variant} ({build.distribution}) is built for CUDA {build.cuda}"
    return build.origin.fact(text, "cuda", "variant", "is_pypi_default")


def read_variables(text: str) -> Iterator[tuple[str, str]]:
    """`KEY=VALUE` pairs between `;` or line ends; requirement clauses keep their blanks and commas."""
    for part in re.split(r"[;\n]", text):
        key, equals, value = part.strip().partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", key.strip()):
            yield key.strip(), value.strip().strip("\"'")
