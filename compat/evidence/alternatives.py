"""Alternatives to an image's content: other builds, tags and CUDA lines, nearest first.

They fit GPU and driver; the rules decide whether they run.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import TypeVar

from packaging.version import Version

from compat.evidence.case import Case
from compat.evidence.drivers import major_floor, native_floor
from compat.evidence.names.builds import for_system, is_tag
from compat.evidence.names.image_name import ImageName, read_image, repository_of
from compat.facts import csv_files, tables
from compat.facts.rows import Build
from compat.values.findings import Change
from compat.values.hosts import Platform, PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import (
    ComputeCapability,
    CudaVersion,
    DriverVersion,
    Target,
    VersionError,
    compiles,
    listed,
    parse_release,
    runs,
)

Item = TypeVar("Item")
_TORCH_INDEX = "https://download.pytorch.org/whl"
_PLAIN = {"paddle": "paddlepaddle-gpu", "onnxruntime": "onnxruntime-gpu"}


@dataclass(frozen=True, slots=True)
class Option:
    """An alternative: what it is, the command or tag for it, and its changes to the case."""

    what: str  # torch 2.6.0+cu124, CUDA 12.4
    how: str
    changes: tuple[Change, ...]
    verb: str = "use"

    @property
    def text(self) -> str:
        """The instruction for a person."""
        return f"{self.verb} {self.what}"


def builds(case: Case, image: ImageFacts, pool: PoolFacts, driver: DriverVersion | None) -> Iterator[Option]:
    """Builds of the same framework: of this version first, then of the nearest versions."""
    system = pool.wheels_for
    known, covering = _versions(image.framework, system), _with_code(image.framework, system, pool.gpu.capability)
    wanted, newest = image.framework_version, newest_reached(driver, pool.platform)
    place = len(known) if wanted is None else bisect_left(known, wanted)
    is_conda = "conda" in case.build.lower()
    for version in _outward(known, place):
        rows = [row for row in covering.get(version, ()) if _cuda(row).line <= newest]
        rows.sort(key=lambda row: ("conda" in row.distribution) == is_conda)  # stable: the newest CUDA stays last
        for row in reversed(rows):
            if version != wanted or row.variant != image.build or image.gpu_free:
                yield _of_build(case, row)


def newest_builds(case: Case, image: ImageFacts, pool: PoolFacts, driver: DriverVersion | None) -> Iterator[Option]:
    """Builds of the same framework, the newest version first."""
    system = pool.wheels_for
    covering, newest = (
        _with_code(image.framework, system, pool.gpu.capability),
        newest_reached(driver, pool.platform),
    )
    for version in reversed(_versions(image.framework, system)):
        for row in reversed(covering.get(version, ())):
            if _cuda(row).line <= newest:
                yield _of_build(case, row)


def lines(image: ImageFacts, pool: PoolFacts, driver: DriverVersion | None) -> Iterator[CudaVersion]:
    """CUDA lines for this GPU that this driver reaches, nearest to the image's first."""
    known = _fitting(pool.gpu.capability, newest_reached(driver, pool.platform))
    own = image.cuda.line if image.cuda is not None else None
    for line in _outward(known, bisect_left(known, own) if own is not None else len(known)):
        if line != own:
            yield line


def newest_line(pool: PoolFacts, driver: DriverVersion | None) -> CudaVersion | None:
    """Newest CUDA line for this GPU that this driver reaches; None if there is none."""
    return next(reversed(_fitting(pool.gpu.capability, newest_reached(driver, pool.platform))), None)


@lru_cache(1024)
def _fitting(gpu: ComputeCapability, newest: CudaVersion) -> tuple[CudaVersion, ...]:
    return tuple(line for line in tables.cuda_lines() if line <= newest and makes_code(line, gpu))


def of_line(case: Case, line: CudaVersion) -> Option:
    """The same with another CUDA line, by tag if one is known."""
    changes = [Change("cuda", case.cuda, str(line))] if case.cuda or not case.image else []
    how = ""
    if case.image and (tag := _tag_of_line(case.image, line)):
        changes.append(Change("image", case.image, tag))
        how = f"the image {tag}"
    elif case.image and not case.cuda:
        changes.append(Change("cuda", "", str(line)))
    return Option(f"CUDA {line}", how, tuple(changes))


def tags(case: Case, pool: PoolFacts, driver: DriverVersion | None) -> Iterator[Option]:
    """Tags of the same repository that the tables know, nearest first."""
    fitting = _fitting(pool.gpu.capability, newest_reached(driver, pool.platform))
    for tag, cudas in _near_tags(case.image):
        if cudas[-1].line in fitting:
            changes = [Change("image", case.image, tag)]
            if case.cuda:
                changes.append(Change("cuda", case.cuda, str(cudas[-1])))
            if case.cudnn:
                changes.append(Change("cudnn", case.cudnn, ""))
            yield Option(f"the image {tag}", "", tuple(changes))


def target(case: Case, image: ImageFacts, pool: PoolFacts, driver: DriverVersion | None) -> Iterator[Option]:
    """The same program, compiled for this GPU as well, without targets that such a CUDA does not know."""
    gpu = pool.gpu.capability
    cubins = image.code.cubins or () if image.code else ()
    own = image.cuda.line if image.cuda is not None else None
    fitting = _fitting(gpu, newest_reached(driver, pool.platform))
    for line in [own] if own in fitting else lines(image, pool, driver):
        kept = tuple(each for each in cubins if _is_known_to(line, each))
        added = () if any(each.capability == gpu for each in kept) else (Target(gpu),)
        changes = [Change("sm_list", case.sm_list, ";".join(map(str, (*kept, *added))))]
        how = [f"for sm_{gpu.digits} as well"] if added else []
        if kept != cubins:
            how.append(f"without {listed(tuple(each for each in cubins if each not in kept))}")
        if line != own:
            changes.append(Change("cuda", case.cuda, str(line)))
            how.append(f"with CUDA {line}")
        if how:
            yield Option(", ".join(how), "", tuple(changes), verb="build it")


def _is_known_to(line: CudaVersion, target: Target) -> bool:
    arch = tables.architectures().get(target.capability)
    return arch is None or arch.first_cuda is None or arch.first_cuda <= line


def compiled_plainly(case: Case) -> Option:
    """The same program, with compression that every driver supports."""
    changes = (Change("compressed", case.compressed, "none"),)
    return Option("it with nvcc --compress-mode=speed", "", changes, verb="build")


def _of_build(case: Case, row: Build) -> Option:
    tag = row.variant if is_tag(row.variant) else ""
    build = f"conda {tag}".strip() if "conda" in row.distribution else tag
    fields = {
        "framework_version": row.version,
        "build": build,
        "cuda": str(row.cuda.line) if case.cuda and row.cuda else "",
        "sm_list": "",
        "ptx": "",
        "compressed": "",
        "cudnn": "",
    }
    changes = [Change(name, was, to) for name, to in fields.items() if (was := getattr(case, name)) != to]
    if not case.framework:
        changes.insert(0, Change("framework", "", row.framework))
    return Option(short_name(row), install(row), tuple(changes))


@cache
def _versions(framework: str, system: str) -> tuple[Version, ...]:
    return tuple(sorted({parse_release(row.version) for row in _rows(framework, system)}))


def _rows(framework: str, system: str) -> tuple[Build, ...]:
    rows = tables.builds(framework)
    return tuple(
        row for row in rows if re.fullmatch(r"\d[\w.+]*", row.version) and row.cuda and for_system(row, system)
    )


@lru_cache(512)
def _with_code(framework: str, system: str, gpu: ComputeCapability) -> dict[Version, tuple[Build, ...]]:
    """Version → builds with code for the GPU, oldest CUDA first."""
    found: dict[Version, list[Build]] = {}
    for row in _rows(framework, system):
        if _covers(row, gpu):
            found.setdefault(parse_release(row.version), []).append(row)
    return {version: tuple(sorted(rows, key=_cuda)) for version, rows in found.items()}


def _cuda(row: Build) -> CudaVersion:
    return row.cuda or tables.cuda_lines()[0]


def _covers(row: Build, gpu: ComputeCapability) -> bool:
    if row.lowest_capability is not None and gpu < row.lowest_capability:
        return False
    if row.at_least is not None and gpu < row.at_least:
        return False
    if row.cubins is None:
        return row.cuda is not None and makes_code(row.cuda.line, gpu)
    return any(runs(each, gpu) for each in row.cubins) or any(compiles(each, gpu) for each in row.ptx or ())


@lru_cache(4096)
def makes_code(line: CudaVersion, gpu: ComputeCapability) -> bool:
    """Can this toolkit generate machine code for the GPU?"""
    known = tables.architectures()
    own = known.get(gpu)
    if own is not None and own.last_cuda is not None and line > own.last_cuda:
        return False
    return any(
        each.first_cuda is not None and each.first_cuda <= line and runs(Target(each.capability), gpu)
        for each in known.values()
    )


@lru_cache(2048)
def newest_reached(driver: DriverVersion | None, platform: Platform) -> CudaVersion:
    """Newest line that the driver runs, natively or by minor-version compatibility: it also runs all older ones.

    The newest of all if the driver is not known.
    """
    if driver is None:
        return tables.cuda_lines()[-1]
    reached = [
        line for line in tables.cuda_lines() if (floor := _lowest_driver(line, platform)) is None or driver >= floor
    ]
    return max(reached, default=CudaVersion(0, 0))


def _lowest_driver(cuda: CudaVersion, platform: Platform) -> DriverVersion | None:
    floors = [found[0] for found in (native_floor(cuda, platform), major_floor(cuda)) if found is not None]
    return min(floors, default=None)


def _outward(items: tuple[Item, ...], place: int) -> Iterator[Item]:
    """The item at the position, then its neighbours on both sides, nearest first; on a tie the later."""
    for step in range(max(place, len(items) - place) + 1):
        if place + step < len(items):
            yield items[place + step]
        if 0 <= place - step - 1 < len(items):
            yield items[place - step - 1]


@lru_cache(64)
def _known_tags(repository: str) -> tuple[tuple[str, ImageName], ...]:
    """Known references of a repository, with what their names state."""
    seen = {f"{repository}:{row.tag.rstrip('*-_')}" for row in tables.image_tags().get(repository, ())}
    seen |= {text for row in csv_files.rows("image_example") if repository_of(text := row["reference"]) == repository}
    found = []
    for reference in sorted(seen):
        try:
            named = read_image(reference)
        except VersionError:
            continue
        if re.search(r"\d", named.tag) and named.tag in reference and named.cudas:
            found.append((reference, named))
    return tuple(found)


def _near_tags(reference: str) -> tuple[tuple[str, tuple[CudaVersion, ...]], ...]:
    own = read_image(reference)
    known = [each for each in _known_tags(own.repository) if each[1].tag != own.tag]
    ordered = sorted({_numbers(named.tag) for _, named in known} | {_numbers(own.tag)})
    place = {numbers: index for index, numbers in enumerate(ordered)}
    here, shape = place[_numbers(own.tag)], _shape(own.tag)
    known.sort(key=lambda each: (_shape(each[1].tag) != shape, abs(place[_numbers(each[1].tag)] - here)))
    return tuple((text, named.cudas) for text, named in known)


def _tag_of_line(reference: str, line: CudaVersion) -> str:
    """A tag of the same repository with this CUDA, if possible of the same flavour; empty if none is known."""
    own = read_image(reference)
    fitting = _tags_by_line(own.repository).get(line, ()) if own.cudas else ()
    wanted = _flavour(own.tag)
    return max(fitting, key=lambda each: len(wanted & each[1]), default=("", wanted))[0]


@lru_cache(64)
def _tags_by_line(repository: str) -> dict[CudaVersion, list[tuple[str, frozenset[str]]]]:
    found: dict[CudaVersion, list[tuple[str, frozenset[str]]]] = {}
    for text, named in _known_tags(repository):
        if len(named.cudas) == 1:
            found.setdefault(named.cudas[0].line, []).append((text, _flavour(named.tag)))
    return found


def _flavour(tag: str) -> frozenset[str]:
    """Words of a tag except versions: runtime, devel, ubuntu."""
    return frozenset(re.findall(r"[a-z]+", tag))


def _numbers(tag: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", tag))


def _shape(tag: str) -> str:
    return re.sub(r"\d+(?:\.\d+)*", "#", tag)


# --- how to install a build, according to its project


def install(build: Build) -> str:
    """`pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu118`; never empty.

    Sources: https://pytorch.org/get-started/previous-versions/, https://www.tensorflow.org/install/pip,
    https://docs.jax.dev/en/latest/installation.html, https://docs.cupy.dev/en/stable/install.html,
    https://docs.rapids.ai/install/, names of the distributions on PyPI.
    """
    if build.distribution.startswith("container "):
        return f"the image {build.distribution.removeprefix('container ')}"
    if build.framework == "pytorch":
        return _torch(build)
    if build.framework == "rapids":
        line = f"{build.cuda.major}.{build.cuda.minor}" if build.cuda else ""
        return f"conda install -c rapidsai -c conda-forge rapids={build.version} cuda-version={line}"
    return f"pip install {_requirement(build)}"


def _requirement(build: Build) -> str:
    version = build.version
    if named := re.match(r"pip ([\w-]+)(\[[\w-]+\])?(?: |$)", build.distribution):
        name, extra = named[1].replace("_", "-"), named[2] or ""
        return f'"{name}{extra}=={version}"' if extra else f"{name}=={version}"
    return f"{_PLAIN.get(build.framework, build.framework)}=={version}"


def _torch(build: Build) -> str:
    version, variant = parse_release(build.version), build.variant
    if "conda" in build.distribution:
        line = variant.removeprefix("cuda")
        short = ".".join(line.split(".")[:2])
        toolkit = f"pytorch-cuda={short} -c nvidia" if version >= Version("1.13") else f"cudatoolkit={short}"
        return f"conda install pytorch=={build.version} {toolkit} -c pytorch"
    if build.is_default:
        return f"pip install torch=={build.version}"
    if version >= Version("2.0"):
        return f"pip install torch=={build.version} --index-url {_TORCH_INDEX}/{variant}"
    if version >= Version("1.11"):
        return f"pip install torch=={build.version}+{variant} --extra-index-url {_TORCH_INDEX}/{variant}"
    return f"pip install torch=={build.version}+{variant} -f {_TORCH_INDEX}/torch_stable.html"


def short_name(build: Build) -> str:
    """`torch 2.6.0+cu118`, `tensorflow 2.10.0`, `jax 0.4.30 (cuda12)`."""
    name = "torch" if build.framework == "pytorch" else build.framework
    if build.framework == "pytorch" and "conda" not in build.distribution:
        return f"{name} {build.version}+{build.variant}"
    line = f" for CUDA {build.cuda.line}" if build.cuda else ""
    return f"{name} {build.version}{line}"
