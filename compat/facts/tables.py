"""The fact tables, read once, on first use. `tools/tables.py` checks the files, so reading them here only converts."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache
from operator import attrgetter, itemgetter
from typing import TypeVar

from packaging.version import Version

from compat.facts.csv_files import keys_of, rows, rows_of
from compat.facts.rows import (
    LINUX,
    Architecture,
    Build,
    ContainerToolkit,
    Cudnn,
    DriverBranch,
    ForwardCompat,
    FrameworkFloor,
    FrameworkLibrary,
    GpuModel,
    ImageRepository,
    ImageTag,
    Nccl,
    Origin,
    Row,
    Toolkit,
    parse,
)
from compat.values.versions import ComputeCapability, CudaVersion, DriverVersion

Kind = TypeVar("Kind")


def _all(name: str, kind: type[Kind]) -> tuple[Kind, ...]:
    return tuple(parse(kind, row) for row in rows(name))


def _grouped(found: Iterable[Kind], key: Callable[[Kind], str]) -> dict[str, tuple[Kind, ...]]:
    groups: dict[str, list[Kind]] = {}
    for each in found:
        groups.setdefault(key(each), []).append(each)
    return {name: tuple(group) for name, group in groups.items()}


@cache
def gpu_rows() -> dict[str, Row]:
    """Name of a GPU model → its row as text: a question needs few of some hundreds as types."""
    return {row["model"]: row for row in rows("gpu_model")}


@cache
def gpu_model(name: str) -> GpuModel:
    return parse(GpuModel, gpu_rows()[name])


@cache
def gpu_models() -> tuple[GpuModel, ...]:
    return tuple(map(gpu_model, gpu_rows()))


@cache
def architectures() -> dict[ComputeCapability, Architecture]:
    return {found.capability: found for found in _all("gpu_arch", Architecture)}


@cache
def toolkits() -> tuple[Toolkit, ...]:
    return _all("cuda_driver", Toolkit)


@cache
def driver_branches() -> dict[int, DriverBranch]:
    return {found.branch: found for found in _all("driver_branch", DriverBranch)}


@cache
def frameworks() -> tuple[str, ...]:
    """Frameworks with builds in the tables."""
    return tuple(dict.fromkeys(keys_of("framework")))


@cache
def builds(framework: str) -> tuple[Build, ...]:
    """The builds of a framework, oldest version first; none if the table has none."""
    found = rows_of("framework", framework) if framework else []
    return tuple(map(_completed, (parse(Build, row) for row in found)))


def _completed(build: Build) -> Build:
    """A build together with the wheel that it pins, of the same CUDA."""
    if build.cuda is None:
        return build
    fitting = [each for each in pinned_by(build) if each.cuda and each.cuda.line == build.cuda.line]
    return with_pinned(build, max(fitting, key=lambda each: each.is_default)) if fitting else build


def pinned_by(build: Build) -> tuple[Build, ...]:
    """Linux wheels of the framework that a build pins, one for each CUDA; none if it pins nothing."""
    if build.pins is None:
        return ()
    framework, version = build.pins
    found = (each for each in builds(framework) if each.version == version)
    return tuple(each for each in found if each.distribution == f"pip wheel {LINUX}")


def with_pinned(build: Build, pinned: Build) -> Build:
    """A build with its pinned wheel: it takes the wheel's CUDA, and its device code if its own list is missing."""
    build = build.alone or build
    both = replace(
        build,
        alone=build,
        variant=f"torch-{pinned.variant}" if pinned.framework == "pytorch" else pinned.variant,
        cuda=pinned.cuda,
        cudnn=pinned.cudnn,
    )
    if build.cubins is not None:
        return replace(both, beside=pinned)
    origin = Origin(
        f"{pinned.origin.source} ; {build.origin.source}",
        build.origin.collected,
        (pinned.origin.unverified & {"sm_list", "ptx"}) | build.origin.unverified,
    )
    basis = f"that of {pinned.framework} {pinned.version} {pinned.variant}, which it pins"
    both = replace(both, cubins=pinned.cubins, ptx=pinned.ptx, ptx_cuda=pinned.ptx_cuda)
    return replace(both, basis=basis, origin=origin)


@cache
def cudnns() -> tuple[Cudnn, ...]:
    return _all("cudnn", Cudnn)


@cache
def container_toolkits() -> tuple[ContainerToolkit, ...]:
    """Releases that change behaviour, oldest first."""
    return tuple(sorted(_all("container_toolkit", ContainerToolkit), key=lambda each: each.version))


def container_toolkit(version: Version) -> ContainerToolkit:
    """The row for this release: the newest at or below it, or the oldest for earlier ones."""
    known = container_toolkits()
    return next((each for each in reversed(known) if each.version <= version), known[0])


@cache
def nccls() -> tuple[Nccl, ...]:
    """Oldest first."""
    return tuple(sorted(_all("nccl", Nccl), key=lambda row: row.version))


@cache
def forward_compats() -> dict[CudaVersion, dict[int, ForwardCompat]]:
    """CUDA line of the compat package → host branch → whether it works there."""
    found: dict[CudaVersion, dict[int, ForwardCompat]] = {}
    for row in _all("forward_compat", ForwardCompat):
        found.setdefault(row.line, {})[row.branch] = row
    return found


@cache
def image_tags() -> dict[str, tuple[ImageTag, ...]]:
    """Repository → its tags, longest first, so that the first match is the nearest."""
    longest_first = sorted(_all("image_tag", ImageTag), key=lambda tag: -len(tag.tag))
    return _grouped(longest_first, attrgetter("repository"))


@cache
def image_repositories() -> dict[str, tuple[ImageRepository, ...]]:
    return _grouped(_all("image_repository", ImageRepository), attrgetter("repository"))


@cache
def framework_floors() -> dict[str, tuple[FrameworkFloor, ...]]:
    return _grouped(_all("framework_floor", FrameworkFloor), attrgetter("framework"))


@cache
def framework_libraries() -> dict[str, tuple[FrameworkLibrary, ...]]:
    return _grouped(_all("framework_library", FrameworkLibrary), attrgetter("framework"))


@cache
def by_key(name: str, column: str) -> dict[str, tuple[Row, ...]]:
    """A small table as text, by one of its columns: requirement clauses, C libraries, operator releases, instances."""
    return _grouped(rows(name), itemgetter(column))


@cache
def cuda_lines() -> tuple[CudaVersion, ...]:
    """Every CUDA line with a toolkit, oldest first."""
    return tuple(sorted({each.version.line for each in toolkits()}))


@cache
def toolkits_of(line: CudaVersion) -> tuple[Toolkit, ...]:
    """Releases of one CUDA line, oldest first."""
    return tuple(sorted((each for each in toolkits() if each.version.line == line), key=attrgetter("version")))


@cache
def first_release(branch: int) -> DriverVersion:
    """Lowest known driver of a branch, betas included; the branch's start if no source names one."""
    named = [each.floor for each in toolkits() if each.floor is not None and each.floor.branch == branch]
    if (row := driver_branches().get(branch)) is not None and row.first_release is not None:
        named.append(row.first_release)
    return min(named, default=DriverVersion.start_of(branch))
