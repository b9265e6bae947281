"""Reads a case's image fields as possible images: CUDA, framework build, device code, libraries."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from packaging.version import Version

from compat.evidence.case import COMPAT, COMPAT_FIRST, Case, OpenField, Reader, Reading
from compat.evidence.names import typed
from compat.evidence.names.builds import (
    LOADS_CUDA_FROM_OUTSIDE,
    TAKEN_BY_DRIVER,
    BuildField,
    BuildSpec,
    Choice,
    choose,
    read_build,
    read_build_spec,
)
from compat.evidence.names.device_code import (
    AS_LISTED,
    UNREAD_TARGETS,
    can_make,
    listed_code,
    listed_compression,
    only_ptx,
    without_ptx,
)
from compat.evidence.names.distributions import ALIASES
from compat.evidence.names.image_name import BY_NAME, ImageName, read_image
from compat.facts import tables
from compat.facts.rows import Build
from compat.values.fact import AS_GIVEN, THE_CASE, Fact, Present
from compat.values.findings import note, unknown, warn
from compat.values.images import Code, Compressed, ImageFacts
from compat.values.versions import CudaVersion, VersionError

_AS_WHEELS = frozenset({"ctranslate2", "faster-whisper", "onnxruntime"})  # few people compile them, and they say so
_ALL_BUILDS_LISTED = frozenset({"pytorch", "ollama"})  # the tables have all builds that these projects publish


@dataclass(frozen=True, slots=True)
class ImageFields:
    """The image part of a case, each field read."""

    name: str
    named: ImageName | None
    cudas: tuple[CudaVersion, ...]
    code: Code | None
    compressed: Compressed | None
    lists_targets: bool
    framework: str
    version: str  # as it is written
    build: str  # as it is written
    stated: BuildField  # what it says
    cudnn: Version | None
    compat: str
    glibc: Version | None
    environment: tuple[tuple[str, str], ...]

    @property
    def around(self) -> tuple[CudaVersion, ...]:
        """CUDA in addition to a framework's own: stated, or in the image's name."""
        return self.cudas or (self.named.cudas if self.named else ())


@lru_cache(1024)  # a matrix reads each image for every pool
def read_images(case: Case, system: str, *, lenient: bool = True) -> Reading[ImageFacts]:
    """Possible images of a case: one for each CUDA line or framework build that it leaves open.

    `system` selects the wheels: an arm64 host gets arm64 wheels. With `lenient`, a field that cannot be
    read counts as absent, with a note, unless nothing to run is left.
    """
    reader = Reader(lenient=lenient)
    named = reader.read("image", case.image, read_image)
    case = _as_named(case, named)
    given = _image_fields(reader, case, named)
    spec = _build_spec(reader, given, system)
    if reader.problems:
        return reader.done(())
    code = None if given.code is UNREAD_TARGETS else given.code
    if reader.passed_over and not any((named, given.cudas, spec, code, given.cudnn, case.env)):
        reader.essential()
        return reader.done(())
    if not any((case.image, given.cudas, spec, given.code, given.cudnn, case.build, case.env)):
        fact = Fact("no image, CUDA line, framework or list of targets was given", THE_CASE, "")
        message = "nothing says what shall run: write image, cuda, framework or sm_list"
        reader.notes.append(unknown("R-ARCH", message, fact))
    _doubt(reader, given)
    return reader.done(_of_cuda(reader, given) if spec is None else _of_framework(reader, given, spec))


def _image_fields(reader: Reader, case: Case, named: ImageName | None) -> ImageFields:
    stated = reader.read("build", case.build, read_build, is_essential=True) or BuildField()
    return ImageFields(
        name=case.image or " ".join(filter(None, (case.framework, case.framework_version, case.build))) or "the image",
        named=named,
        cudas=reader.read("cuda", case.cuda, typed.read_cudas) or (),
        code=_code(reader, case, stated) or _of_tag(named),
        compressed=reader.read("compressed", case.compressed, listed_compression),
        lists_targets=bool(case.sm_list or case.ptx or _of_tag(named)),
        framework=case.framework,
        version=case.framework_version,
        build=case.build,
        stated=stated,
        cudnn=reader.read("cudnn", case.cudnn, typed.read_release),
        compat=reader.one_of("cuda_compat", case.cuda_compat, COMPAT),
        glibc=reader.read("image_glibc", case.image_glibc, typed.read_release),
        environment=tuple(read_variables(case.env)),
    )


def _code(reader: Reader, case: Case, stated: BuildField) -> Code | None:
    """Device code by its own fields, else by the targets that `build` lists."""
    found: Code | None = None
    if case.sm_list or case.ptx:
        for name, sm_list, ptx in (("sm_list", case.sm_list, ""), ("ptx", "", case.ptx)):
            if getattr(case, name) and not _can_read(reader, name, sm_list, ptx):
                return UNREAD_TARGETS
        found = listed_code(case.sm_list, case.ptx)
    if found is None and stated.targets is not None:
        own = stated.targets
        is_bare = own.cubins is not None and own.ptx is None
        listed = Code(own.cubins, own.ptx, AS_LISTED, languages=own.languages)
        found = without_ptx(own.cubins or ()) if is_bare else listed
    if stated.is_ptx_only:
        return only_ptx(found)
    return replace(found, ptx=()) if found is not None and stated.has_no_ptx and not case.ptx else found


def _can_read(reader: Reader, field: str, sm_list: str, ptx: str) -> bool:
    try:
        listed_code(sm_list, ptx)
    except VersionError as error:
        reader.problem(field, sm_list or ptx, error.reason)
        return False
    return True


def _of_tag(named: ImageName | None) -> Code | None:
    """Targets that the tag itself names, such as `server-sm120`; those in tables are looked up later."""
    if named is None or named.targets is None or named.fact.source != BY_NAME:
        return None
    return without_ptx(named.targets.cubins or ())


def _as_named(case: Case, named: ImageName | None) -> Case:
    """A publisher's framework image, and that framework without another version, are the same thing stated twice."""
    if named is None or not named.own_build or not named.framework:
        return case
    key = re.sub(r"[^a-z0-9]", "", case.framework.lower())
    own = ALIASES.get(named.framework, named.framework)
    is_same = ALIASES.get(key, key) == own or (key == "triton" and own == "tritonserver")
    number = re.match(r"[\w.-]*", case.framework_version.strip().lower())
    is_of_image = not case.framework_version or bool(number and number[0] and number[0] in case.image)
    # A plain version beside an NGC image is that of NVIDIA's own build in it, with the month's CUDA.
    is_of_image = is_of_image or not (case.build or "+cu" in case.framework_version)
    return replace(case, framework="", framework_version="") if is_same and is_of_image else case


def _doubt(reader: Reader, given: ImageFields) -> None:
    """A moving tag, or a note from memory, may not match today's content."""
    named = given.named
    if named is not None and named.jetson:
        fact = Fact("images for Jetson hold CUDA for Tegra, which other GPUs do not run", named.fact.source, "")
        message = f"{named.reference} is made for Jetson, which gpu-commons does not cover"
        reader.notes.append(unknown("R-FRAMEWORK", message, fact))
    if named is None or given.cudas or given.framework:
        return
    inspect = f"gpu-commons inspect --deep {named.reference} reads it"
    if named.is_moving:
        message = (
            f"{named.reference} is given to another image now and then: what it holds today is not known; {inspect}"
        )
        reader.notes.append(unknown("R-FRAMEWORK", message, replace(named.fact, verified=False)))
    elif named.is_from_memory and named.is_of_another:
        message = (
            f"it is not known which CUDA {named.reference} holds: only other images of its family were read; {inspect}"
        )
        reader.notes.append(unknown("R-FRAMEWORK", message, replace(named.fact, verified=False)))
    elif named.is_from_memory:
        message = f"which CUDA {named.reference} holds is from memory, not verified"
        reader.notes.append(warn("R-FRAMEWORK", message, replace(named.fact, verified=False)))


def _build_spec(reader: Reader, given: ImageFields, system: str) -> BuildSpec | None:
    framework, version = given.framework, given.version
    if not framework and given.named is not None and given.named.framework:
        framework, version = given.named.framework, version or given.named.framework_version
    if reader.problems or not (framework or given.build):
        return None
    field, text = ("framework_version", version) if version else ("framework", framework)
    try:
        return read_build_spec(framework, version, given.build, system=system)
    except VersionError as error:
        reader.problem(field, text, error.reason)
        name = framework.partition("==")[0]
        return read_build_spec(name, "", given.build, system=system) if reader.passed_over else None


def read_variables(text: str) -> Iterator[tuple[str, str]]:
    """`KEY=VALUE` pairs between `;`, line ends or blanks; requirement clauses keep their blanks and commas."""
    for part in re.split(r"[;\n]|\s+(?=[A-Z][A-Z0-9_]+=)", text):
        key, equals, value = part.strip().partition("=")
        if equals and re.fullmatch(r"[A-Za-z_]\w*", key.strip()):
            yield key.strip(), value.strip().strip("\"'")


# --- images without a framework


def _of_cuda(reader: Reader, given: ImageFields) -> tuple[ImageFacts, ...]:
    """No framework: use the stated CUDA, or the one in the image's name."""
    named, found = given.named, given.around or given.stated.cuda or given.stated.nvcc
    if (
        named is not None
        and given.cudas
        and named.cudas
        and not set(_lines_of(given.cudas)) & set(_lines_of(named.cudas))
    ):
        message = (
            f"the image's name says CUDA {named.cudas[-1]}, the case says {given.cudas[-1]}: what the case says counts"
        )
        reader.notes.append(note("R-FRAMEWORK", message, named.fact))
    return tuple(_plain(given, cuda) for cuda in _each_of(reader, found, given.code))


def _each_of(reader: Reader, cudas: tuple[CudaVersion, ...], code: Code | None) -> tuple[CudaVersion | None, ...]:
    """Possible CUDA lines: for `12`, those that know the listed targets, if any does."""
    able = tuple(cuda for cuda in cudas if code is None or can_make(cuda, code)) if len(cudas) > 1 else cudas
    cudas = able or cudas
    if len(cudas) > 1:
        reader.open.append(OpenField("cuda", f"which CUDA {cudas[0].major}.x it is"))
    return cudas or (None,)


def _plain(given: ImageFields, cuda: CudaVersion | None) -> ImageFacts:
    """The image according to the case and its name, with one CUDA line."""
    named = given.named
    plain = ImageFacts(
        name=given.name,
        cuda=cuda,
        cuda_fact=AS_GIVEN,
        code=given.code,
        compressed=given.compressed,
        cudnn=given.cudnn,
        compat_package=_stated_compat(given) or Present.NO,
        compat_use=given.compat if given.compat == COMPAT_FIRST else "",
        compat_line=given.cudas[-1].line if given.cudas else cuda,
        environment=given.environment,
        glibc=given.glibc,
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
        requires=named.requires,
        cpu_architectures=named.cpu_architectures,
        glibc=given.glibc or _glibc_of(named),
        is_opaque=cuda is None and not named.cudas and not named.jetson and named.lowest_capability is None,
        lowest_capability=named.lowest_capability,
    )


def _stated_compat(given: ImageFields) -> Present | None:
    return None if not given.compat else Present.YES if given.compat == COMPAT_FIRST else Present(given.compat)


def _compat_line(named: ImageName, cuda: CudaVersion | None) -> CudaVersion | None:
    """The CUDA of an image's compat package: its own; the name may state only the major."""
    if cuda is not None and cuda.line in _lines_of(named.cudas):
        return cuda.line
    return named.cudas[-1].line if named.cudas else None


def _lines_of(cudas: tuple[CudaVersion, ...]) -> tuple[CudaVersion, ...]:
    return tuple(cuda.line for cuda in cudas)


def _maybe_release(text: str) -> Version | None:
    match = re.match(r"\d+(\.\d+)*", text.strip())
    return typed.read_release(match[0]) if match else None


def _glibc_of(named: ImageName) -> Version | None:
    rows = tables.by_key("glibc", "os").get(named.os, ()) if named.os else ()
    return _maybe_release(rows[0]["glibc"]) if rows else None  # musl has no such number


# --- images with a framework


def _of_framework(reader: Reader, given: ImageFields, spec: BuildSpec) -> tuple[ImageFacts, ...]:
    """The image with each possible build of the framework; notes and open points go to the reader."""
    named = given.named
    if named is not None and named.gpu_free and not given.framework and not given.around:
        return (replace(_gpu_free(given, spec, named.fact), is_whole=True),)
    if spec.cpu_only:
        return (_gpu_free(given, spec, AS_GIVEN),)
    if _is_own_build(given, spec):
        images = (_with_build(given, spec, None, line) for line in _each_of(reader, given.around, given.code))
        return tuple(replace(image, own_build=True) for image in images)
    choice = _choice(given, spec)
    if not choice.builds:
        return _unlisted(reader, given, spec)
    _say_how(reader, given, spec, choice)
    loads = (
        (build, each) for build in _able(choice.builds, given) for each in _with_loaded(reader, given, spec, build)
    )
    images = (_with_build(each, spec, build, build.cuda, is_likely=choice.is_likely) for build, each in loads)
    # A user's own build targets other GPUs than the wheel of the same release.
    is_own = spec.from_source and spec.version is not None
    by_driver = spec.framework in TAKEN_BY_DRIVER and not spec.cuda and len(choice.builds) > 1
    return tuple(
        replace(image, own_build=is_own, code=given.code if is_own else image.code, taken_by_driver=by_driver)
        for image in images
    )


def _with_loaded(reader: Reader, given: ImageFields, spec: BuildSpec, build: Build) -> tuple[ImageFields, ...]:
    """The image with each CUDA that a build for a whole major (`cupy-cuda12x`) may find in it."""
    if given.around or build.cuda is None or _brings_cuda(spec) or not re.fullmatch(r"cu\d+x", build.variant):
        return (given,)
    lines = tuple(line for line in tables.cuda_lines() if line.major == build.cuda.major and line >= build.cuda.line)
    unsaid = OpenField("cuda", f"which CUDA {build.cuda.major}.x is in the image")
    if unsaid not in reader.open:
        reader.open.append(unsaid)
    return tuple(replace(given, cudas=(line,)) for line in lines)


def _gpu_free(given: ImageFields, spec: BuildSpec, fact: Fact) -> ImageFacts:
    return replace(_with_build(given, spec, None, None), gpu_free=True, cuda_fact=fact)


def _is_own_build(given: ImageFields, spec: BuildSpec) -> bool:
    """A build that the project does not publish: use the case, and no table."""
    if not given.around:
        return False
    by_publisher = given.named is not None and given.named.own_build and not given.framework
    listed = given.lists_targets and bool(given.cudas) and not spec.cuda
    return spec.from_source or by_publisher or listed


def _unlisted(reader: Reader, given: ImageFields, spec: BuildSpec) -> tuple[ImageFacts, ...]:
    """A framework without builds in the tables: use the stated CUDA."""
    lines = spec.cuda or given.around or given.stated.nvcc
    if not lines and given.code is not None and given.code.cubins:
        # Targets are listed, but not the CUDA that compiled them: any that knows them, if the answer is the same.
        able = tuple(cuda for cuda in tables.cuda_lines() if can_make(cuda, given.code))
        if able:
            reader.open.append(OpenField("cuda", f"which CUDA {spec.framework} is built by"))
        return tuple(replace(_with_build(given, spec, None, line), is_unlisted=not able) for line in able or (None,))
    images = (_with_build(given, spec, None, line) for line in _each_of(reader, lines, given.code))
    return tuple(replace(image, is_unlisted=not lines) for image in images)


def _able(builds: tuple[Build, ...], given: ImageFields) -> tuple[Build, ...]:
    """The possible builds whose CUDA can generate code for the listed targets; all if none can."""
    if not given.lists_targets or given.code is None or given.code.cubins is None:
        return builds
    code = given.code
    return tuple(build for build in builds if build.cuda is None or can_make(build.cuda, code)) or builds


def _choice(given: ImageFields, spec: BuildSpec) -> Choice:
    narrowed = spec
    stated = set(_lines_of(given.cudas))
    if len(spec.cuda) > 1 and stated and stated <= set(spec.cuda):  # cuda12, and 12.4 stated beside it
        spec = narrowed = replace(spec, cuda=tuple(dict.fromkeys(_lines_of(given.cudas))))
    if not spec.cuda and given.around and _names_the_build(given, spec):
        narrowed = replace(spec, cuda=tuple(dict.fromkeys(_lines_of(given.around))))
    choice = choose(narrowed)
    if choice.builds or narrowed is spec:
        return choice
    # Without a build for the image's CUDA, use the framework's own CUDA.
    if not given.cudas or (spec.framework in _ALL_BUILDS_LISTED and spec.version):
        return choose(spec)
    own = choose(spec)
    in_own_image = given.named is not None and bool(given.named.framework)
    return own if _loads_other_libraries(spec, own) and not in_own_image else choice


def _loads_other_libraries(spec: BuildSpec, own: Choice) -> bool:
    """Does a release for one CUDA, as far as known, load CUDA by its linked library names?"""
    majors = {build.cuda and build.cuda.major for build in own.builds}
    is_known = (len(own.builds) == 1 and not own.near) or spec.framework in _AS_WHEELS
    return is_known and len(majors) == 1 and None not in majors and spec.version is not None and not _brings_cuda(spec)


def _names_the_build(given: ImageFields, spec: BuildSpec) -> bool:
    """Does the image's CUDA identify the build? In a framework's own image; not for a wheel in another one."""
    named = given.named
    if named is None or given.cudas:
        return True
    return bool(named.framework) and ALIASES.get(named.framework, named.framework) == spec.framework


def _say_how(reader: Reader, given: ImageFields, spec: BuildSpec, choice: Choice) -> None:
    build = choice.builds[0]
    if len(choice.builds) > 1:
        shown = ", ".join(dict.fromkeys(f"{each.version} {each.variant}" for each in choice.builds[:3]))
        field = "framework_version" if spec.version is None else "build"
        reader.open.append(OpenField(field, f"which build of {spec.framework} it is ({shown}, …)"))
    if choice.near:
        fact = build.origin.fact(f"builds of {spec.framework} {choice.near}", "cuda")
        message = f"{spec.framework} {spec.version} is not in the tables; read as {choice.near}, the nearest that are"
        reader.notes.append(note("R-FRAMEWORK", message, fact))
    own = {each.cuda.line for each in choice.builds if each.cuda}
    if given.around and own and _brings_cuda(spec) and not own & set(_lines_of(given.around)):
        fact = build.origin.fact(f"{spec.framework} {build.version} {build.variant} brings CUDA {build.cuda}", "cuda")
        message = (
            f"the wheel brings CUDA {build.cuda}, and CUDA {given.around[-1]} is around it: the wheel's own counts, "
            "because it is what the program loads"
        )
        reader.notes.append(note("R-FRAMEWORK", message, fact))


def _with_build(
    given: ImageFields, spec: BuildSpec, build: Build | None, own: CudaVersion | None, *, is_likely: bool = False
) -> ImageFacts:
    """The image with a framework in it: a build of the tables, or one with only its CUDA known."""
    brings, around = _brings_cuda(spec), given.around
    loaded = own
    if not brings and around and own is not None and around[0].major == own.major:
        loaded = around[0]  # libraries of the same major, from the image
    image = _plain(given, loaded)
    image = replace(
        image,
        built_with=own,
        framework=spec.framework,
        framework_version=spec.version,
        carries_cuda=brings,
        of_project_index=(bool(spec.cuda) and not spec.conda) or bool(re.search(r"\bcu1\d\d\b", given.name.lower())),
        system_cuda=around[0] if around else None,
        compat_package=image.compat_package if given.compat or given.named is not None else Present.NO,
    )
    return image if build is None else _built(image, given, build, brings=brings, is_likely=is_likely)


def _built(image: ImageFacts, given: ImageFields, build: Build, *, brings: bool, is_likely: bool) -> ImageFacts:
    """The image with the table's facts of a build."""
    of_build = _code_of(build, is_likely=is_likely)
    return replace(
        image,
        compressed=image.compressed or (_compressed_of(build) if not is_likely else None),
        code=image.code if given.code is not None or of_build is None else of_build,
        gpu_free=build.variant == "cpu",
        framework_version=image.framework_version or _maybe_release(build.version),
        build=build.variant,
        cudnn=image.cudnn or (_maybe_release(build.cudnn) if brings else None),
        lowest_capability=build.lowest_capability or image.lowest_capability,
        stated_driver=image.stated_driver or build.stated_driver,
        cuda_fact=_cuda_fact(build),
    )


def _brings_cuda(spec: BuildSpec) -> bool:
    return spec.framework not in LOADS_CUDA_FROM_OUTSIDE if spec.brings_cuda is None else spec.brings_cuda


def _code_of(build: Build, *, is_likely: bool = False) -> Code | None:
    """Device code of a build from the tables; unverified if it is a neighbour's. None: not recorded."""
    if build.cubins is None and build.ptx is None and build.at_least is None:
        return None
    text = f"{build.framework} {build.version} {build.variant} ({build.distribution}) has code as listed, {build.basis}"
    cubins, ptx = build.origin.fact(text, "sm_list"), build.origin.fact(text, "ptx")
    if is_likely:  # not seen
        cubins, ptx = replace(cubins, verified=False), replace(ptx, verified=False)
    beside = _code_of(build.beside) if build.beside else None
    return Code(build.cubins, build.ptx, cubins, build.at_least, ptx, beside, build.ptx_cuda)


def _compressed_of(build: Build) -> Compressed | None:
    """The compression seen in a build's binary; None if it was not inspected."""
    if build.compressed is None:
        return None
    text = f"{build.framework} {build.version} {build.variant} ({build.distribution}): compression read from the binary"
    return Compressed(*build.compressed, build.origin.fact(text, "compressed"))


def _cuda_fact(build: Build) -> Fact:
    text = f"{build.framework} {build.version} {build.variant} ({build.distribution}) is built for CUDA {build.cuda}"
    return build.origin.fact(text, "cuda", "variant", "is_pypi_default")
