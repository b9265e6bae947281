"""The fact tables as typed rows, read once, on first use.

`data/make.py` writes and validates the files, so reading them here only converts. Empty cells are None or empty:
an absent fact is not known, never guessed.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TypeVar

from packaging.version import Version

from compat.model import Fact, Platform
from compat.versions import ComputeCapability, CudaVersion, DriverVersion, JetsonVersion, Target, parse_release

DATA = Path(__file__).parent / "data"
Read = TypeVar("Read")
Row = dict[str, str]


class UnknownFact(LookupError):  # noqa: N818 - an answer, not a fault: it names the fact that no table has
    """No row answers the question; the text names the missing fact."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row comes from. `unverified` names the columns that nobody has checked against the source."""

    source: str
    collected: str
    unverified: frozenset[str]

    def fact(self, text: str, *columns: str) -> Fact:
        """`text` as a fact of this row; unverified if one of the columns that it rests on is."""
        verified = self.source != "unverified" and self.unverified.isdisjoint(columns)
        return Fact(text, self.source, self.collected, verified)


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One GPU model. `memory_mib` is the nominal size; a driver reports somewhat less."""

    name: str
    compute_capability: ComputeCapability
    family: str  # pascal, turing, …
    memory_mib: int
    product_class: str  # datacenter, workstation, geforce, jetson
    forward_compat: str  # yes, no (GeForce), select NGC-ready RTX only, unknown
    last_driver_branch: int | None
    gfd_product: str  # as a driver of today reports it; `labels.gfd_product` knows older drivers
    mig_capable: bool | None  # None: not recorded
    also_called: tuple[str, ...]
    chips: tuple[str, ...]  # AD107; several where boards of one name have different ones; empty: not recorded
    first_drivers: tuple[DriverVersion, ...]  # on Linux x86_64, one for each branch that a source names
    not_in_drivers: tuple[DriverVersion, ...]  # the newest ones of their branches that do not know it
    first_mig_driver: DriverVersion | None  # the oldest that cuts it into slices
    origin: Origin

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Architecture:
    """One compute capability: the toolkits that make code for it and the driver branches that drive it."""

    capability: ComputeCapability
    name: str
    first_cuda: CudaVersion | None
    last_cuda: CudaVersion | None  # None: still made
    first_branch: int | None
    last_branch: int | None  # None: still driven
    open_kernel_module: str
    origin: Origin


@dataclass(frozen=True, slots=True)
class Toolkit:
    """One CUDA toolkit release. `floor` is None where only the release itself is known."""

    version: CudaVersion
    floor: DriverVersion | None
    minor_floor: DriverVersion | None  # of its major, where minor-version compatibility applies
    windows_floor: DriverVersion | None
    minor_windows_floor: DriverVersion | None
    arm_floor: DriverVersion | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class DriverBranch:
    """One driver branch, and the CUDA line that `nvidia-smi` prints for it."""

    branch: int
    native_cuda: CudaVersion
    end_of_life: str  # YYYY-MM, YYYY, `eol` (ended, no date), `n/a` or empty
    first_release: DriverVersion | None  # on Linux, betas too
    origin: Origin


@dataclass(frozen=True, slots=True, eq=False)
class Build:
    """One build of a framework: version by CUDA variant by distribution."""

    framework: str
    version: str
    distribution: str
    variant: str
    cuda: CudaVersion | None
    is_default: bool
    cudnn: str
    cubins: tuple[Target, ...] | None  # None: not recorded
    ptx: tuple[Target, ...] | None
    ptx_cuda: CudaVersion | None  # the first that knows the PTX, where its version was read: 7.0 is CUDA 11.0
    basis: str
    at_least: ComputeCapability | None
    lowest_capability: ComputeCapability | None
    stated_driver: DriverVersion | None
    pins: tuple[str, str] | None  # framework and version that it brings
    origin: Origin
    beside: Build | None = None  # the wheel of `pins`, where both have a list of targets: both must run
    alone: Build | None = None  # the row itself, where what it pins was added


@dataclass(frozen=True, slots=True)
class Cudnn:
    """One cuDNN release built for a span of CUDA lines."""

    first: Version
    first_cuda: CudaVersion
    last_cuda: CudaVersion
    lowest: ComputeCapability
    highest: ComputeCapability
    origin: Origin


@dataclass(frozen=True, slots=True)
class ContainerToolkit:
    """What releases of the container toolkit do, from this one up to the next."""

    version: Version
    compat_libraries: str  # of an image: mounted, ignored, hook
    checks_require: bool  # NVIDIA_REQUIRE_*, in the mode that it takes by itself
    origin: Origin


@dataclass(frozen=True, slots=True)
class Nccl:
    """One NCCL release as it was built."""

    version: Version
    cubins: tuple[Target, ...]
    ptx: tuple[Target, ...] | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class ForwardCompat:
    """Does the compat package of a CUDA line work on a host branch?"""

    line: CudaVersion
    branch: int
    works: bool
    origin: Origin


@dataclass(frozen=True, slots=True)
class Jetson:
    """One JetPack."""

    jetpack: str
    l4t: JetsonVersion
    cuda: CudaVersion
    modules: tuple[ComputeCapability, ...]
    upgradable_to: CudaVersion | None
    origin: Origin


@dataclass(frozen=True, slots=True)
class ImageTag:
    """What the notes of an image say; the tag may end in `*`."""

    repository: str
    tag: str
    cells: Row
    origin: Origin


@dataclass(frozen=True, slots=True)
class ImageRepository:
    """How the tags of an image family are to be read."""

    repository: str
    kind: str
    framework: str
    pattern: str
    repository_pattern: str  # where the repository's name says it, not the tag
    cpu_pattern: str  # tags that hold no CUDA
    compat_package: str
    cpu_arch: str
    base: str  # what it is built on, with {parts} of the tag; clause, compat package and C library come from there
    clause: str  # NVIDIA_REQUIRE_CUDA, where it is the family's own
    compat_use: str  # `checked`, `first`, or empty: left to the container toolkit
    origin: Origin


@dataclass(frozen=True, slots=True)
class FrameworkFloor:
    """A lowest compute capability that a project states for a span of its versions."""

    framework: str
    first: Version
    before: Version | None
    capability: ComputeCapability
    highest: ComputeCapability | None
    reason: str
    severity: str
    of_wheels: bool  # said of the published wheels only, not of the code
    origin: Origin


@dataclass(frozen=True, slots=True)
class FrameworkLibrary:
    """A library that a framework build needs, and from which version on."""

    framework: str
    version: str  # exact, or with a trailing `.*`
    variant: str
    library: str
    minimum: str
    origin: Origin


def rows(name: str, folder: Path = DATA) -> list[Row]:
    """All rows of one table as text; raises FileNotFoundError where it is not there."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def origin(row: Row) -> Origin:
    return Origin(row["source"], row["collected"], frozenset(filter(None, row["unverified_cells"].split(";"))))


def _maybe(read: Callable[[str], Read], text: str) -> Read | None:
    return read(text) if text else None


def _targets(text: str) -> tuple[Target, ...] | None:
    """`7.0;9.0a` → targets; `none` → none; empty or `not recorded` → None."""
    if text in {"", "not recorded"}:
        return None
    return () if text == "none" else tuple(sorted(Target.parse(part) for part in text.split(";")))


def parse_driver_floor(text: str) -> DriverVersion:
    """A floor of a table: a bare branch means any release of it."""
    return DriverVersion.parse(text) if "." in text else DriverVersion.start_of(int(text))


def _releases(text: str) -> tuple[DriverVersion, ...]:
    """`418.74;430.09` → drivers, oldest first."""
    return tuple(sorted(DriverVersion.parse(part) for part in text.split(";") if part))


def parse_gpu_model(row: Row) -> GpuModel:
    return GpuModel(
        name=row["model"],
        compute_capability=ComputeCapability.parse(row["compute_capability"]),
        family=row["architecture"].lower(),
        memory_mib=int(float(row["vram_gib_nominal"] or 0) * 1024),
        product_class=row["product_class"],
        forward_compat=row["forward_compat_eligible"],
        last_driver_branch=_maybe(int, row["last_driver_branch"]),
        gfd_product=row["gfd_product_label"],
        mig_capable={"yes": True, "no": False}.get(row["mig_capable"]),
        also_called=tuple(filter(None, map(str.strip, row["also_called"].split("|")))),
        chips=tuple(filter(None, row["chip"].split(";"))),
        first_drivers=_releases(row["first_driver"]),
        not_in_drivers=_releases(row["not_in_driver"]),
        first_mig_driver=_maybe(DriverVersion.parse, row["first_mig_driver"]),
        origin=origin(row),
    )


def parse_architecture(row: Row) -> Architecture:
    return Architecture(
        capability=ComputeCapability.parse(row["compute_capability"]),
        name=row["architecture"],
        first_cuda=_maybe(CudaVersion.parse, row["first_cuda"]),
        last_cuda=_maybe(CudaVersion.parse, row["last_cuda"]),
        first_branch=_maybe(int, row["first_driver_branch"]),
        last_branch=_maybe(int, row["last_driver_branch"]),
        open_kernel_module=row["open_kernel_module"],
        origin=origin(row),
    )


def parse_toolkit(row: Row) -> Toolkit:
    return Toolkit(
        version=CudaVersion.parse(row["cuda_version"]),
        floor=_maybe(parse_driver_floor, row["min_linux_x86_64_driver"]),
        minor_floor=_maybe(parse_driver_floor, row["minor_compat_min_driver"])
        if row["minor_compat_applies"] == "yes"
        else None,
        windows_floor=_maybe(parse_driver_floor, row["min_windows_driver"]),
        minor_windows_floor=_maybe(parse_driver_floor, row["minor_compat_min_windows_driver"]),
        arm_floor=_maybe(parse_driver_floor, row["min_linux_aarch64_driver"]),
        origin=origin(row),
    )


def parse_driver_branch(row: Row) -> DriverBranch:
    native = CudaVersion.parse(row["native_cuda"])
    first = _maybe(DriverVersion.parse, row["first_release"])
    return DriverBranch(int(row["branch"]), native, row["eol"], first, origin(row))


def parse_build(row: Row) -> Build:
    stated = row["sm_list"]
    at_least = ComputeCapability.parse(stated[2:]) if stated.startswith(">=") else None
    return Build(
        framework=row["framework"],
        version=row["version"],
        distribution=row["distribution"],
        variant=row["variant"],
        cuda=_maybe(CudaVersion.parse, row["cuda"]),
        is_default=row["is_pypi_default"] == "yes",
        cudnn=row["cudnn"],
        cubins=None if at_least else _targets(stated),
        ptx=_targets(row["ptx"]),
        ptx_cuda=_maybe(CudaVersion.parse, row["ptx_cuda"]),
        basis=row["sm_list_basis"],
        at_least=at_least,
        lowest_capability=_maybe(ComputeCapability.parse, row["cc_min"]),
        stated_driver=_maybe(parse_driver_floor, row["requires_driver"]),
        pins=_maybe(_pin, row["pins"]),
        origin=origin(row),
    )


def _pin(text: str) -> tuple[str, str]:
    """`pytorch 2.7.0`."""
    framework, version = text.split()
    parse_release(version)
    return framework, version


def parse_container_toolkit(row: Row) -> ContainerToolkit:
    if row["compat_libraries"] not in {"mounted", "ignored", "hook"}:
        raise ValueError(f"compat_libraries is {row['compat_libraries']!r}, not mounted, ignored or hook")
    if row["checks_require"] not in {"yes", "no"}:
        raise ValueError(f"checks_require is {row['checks_require']!r}, not yes or no")
    return ContainerToolkit(
        version=parse_release(row["version"]),
        compat_libraries=row["compat_libraries"],
        checks_require=row["checks_require"] == "yes",
        origin=origin(row),
    )


def parse_cudnn(row: Row) -> Cudnn:
    lines = [CudaVersion.parse(line) for line in row["cuda_versions"].replace("|", "-").split("-")]
    return Cudnn(
        first=parse_release(row["cudnn_version"].partition("-")[0]),  # of a span the first stands for all
        first_cuda=min(lines),
        last_cuda=max(lines),
        lowest=ComputeCapability.parse(row["cc_min"]),
        highest=ComputeCapability.parse(row["cc_max"]),
        origin=origin(row),
    )


def parse_nccl(row: Row) -> Nccl:
    return Nccl(parse_release(row["nccl_version"]), _targets(row["sm_list"]) or (), _targets(row["ptx"]), origin(row))


def parse_forward_compat(row: Row) -> ForwardCompat:
    line = CudaVersion.parse(row["compat_line"].replace("-", "."))
    return ForwardCompat(line, int(row["host_branch"]), row["works"] == "yes", origin(row))


def parse_jetson(row: Row) -> Jetson:
    return Jetson(
        jetpack=row["jetpack"],
        l4t=JetsonVersion.parse(row["l4t"]),
        cuda=CudaVersion.parse(row["cuda"]),
        modules=tuple(ComputeCapability.parse(part) for part in filter(None, row["modules"].split(";"))),
        upgradable_to=_maybe(CudaVersion.parse, row["cuda_upgradable_to"]),
        origin=origin(row),
    )


def parse_image_tag(row: Row) -> ImageTag:
    return ImageTag(row["repository"], row["tag"], row, origin(row))


def parse_image_repository(row: Row) -> ImageRepository:
    return ImageRepository(
        repository=row["repository"],
        kind=row["kind"],
        framework=row["framework"],
        pattern=row["tag_pattern"],
        repository_pattern=row["repository_pattern"],
        cpu_pattern=row["cpu_pattern"],
        compat_package=row["compat_package"],
        cpu_arch=row["cpu_arch"],
        base=row["base"],
        clause=row["clause"],
        compat_use=row["compat_use"],
        origin=origin(row),
    )


def parse_framework_floor(row: Row) -> FrameworkFloor:
    return FrameworkFloor(
        row["framework"],
        parse_release(row["from_version"] or "0"),
        _maybe(parse_release, row["to_version"]),
        ComputeCapability.parse(row["cc_min"] or "1.0"),
        _maybe(ComputeCapability.parse, row["cc_max"]),
        row["reason"],
        row["severity"],
        row["only"] == "wheels",
        origin(row),
    )


def parse_framework_library(row: Row) -> FrameworkLibrary:
    return FrameworkLibrary(
        row["framework"], row["version"], row["variant"], row["library"], row["minimum"], origin(row)
    )


def _all(name: str, parse: Callable[[Row], Read]) -> tuple[Read, ...]:
    return tuple(map(parse, rows(name)))


@cache
def gpu_models() -> tuple[GpuModel, ...]:
    return _all("gpu_model", parse_gpu_model)


@cache
def architectures() -> dict[ComputeCapability, Architecture]:
    return {found.capability: found for found in _all("gpu_arch", parse_architecture)}


@cache
def toolkits() -> tuple[Toolkit, ...]:
    return _all("cuda_driver", parse_toolkit)


@cache
def driver_branches() -> dict[int, DriverBranch]:
    return {found.branch: found for found in _all("driver_branch", parse_driver_branch)}


@cache
def builds() -> dict[str, tuple[Build, ...]]:
    """Framework → its builds, oldest version first."""
    found: dict[str, list[Build]] = {}
    for build in _all("framework", parse_build):
        found.setdefault(build.framework, []).append(build)
    for builds_of in found.values():
        builds_of[:] = [_completed(build, found) for build in builds_of]
    return {name: tuple(each) for name, each in found.items()}


def _completed(build: Build, all_builds: Mapping[str, Sequence[Build]]) -> Build:
    """A build beside the wheel that it pins, of the same CUDA."""
    if build.cuda is None:
        return build
    fitting = [each for each in _pinned(build, all_builds) if each.cuda and each.cuda.line == build.cuda.line]
    return with_pinned(build, max(fitting, key=lambda each: each.is_default)) if fitting else build


def pinned_by(build: Build) -> tuple[Build, ...]:
    """Wheels for Linux of the framework that a build pins, one for each CUDA; none where it pins nothing."""
    return _pinned(build, builds())


def _pinned(build: Build, all_builds: Mapping[str, Sequence[Build]]) -> tuple[Build, ...]:
    if build.pins is None:
        return ()
    framework, version = build.pins
    found = (each for each in all_builds.get(framework, ()) if each.version == version)
    return tuple(each for each in found if each.distribution == "pip wheel linux x86_64")


def with_pinned(build: Build, pinned: Build) -> Build:
    """A build beside what it pins: its CUDA is that one's, and its device code too where it has no list of its own."""
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
    return _all("cudnn", parse_cudnn)


@cache
def container_toolkits() -> tuple[ContainerToolkit, ...]:
    """Releases at which something turns, oldest first."""
    return tuple(sorted(_all("container_toolkit", parse_container_toolkit), key=lambda each: each.version))


def container_toolkit(version: Version) -> ContainerToolkit:
    """The release that stands for this one: the newest at or below it, and the oldest for all before."""
    known = container_toolkits()
    return next((each for each in reversed(known) if each.version <= version), known[0])


@cache
def nccls() -> tuple[Nccl, ...]:
    """Oldest first."""
    return tuple(sorted(_all("nccl", parse_nccl), key=lambda row: row.version))


@cache
def forward_compats() -> dict[CudaVersion, dict[int, ForwardCompat]]:
    """CUDA line of the compat package → host branch → whether it works there."""
    found: dict[CudaVersion, dict[int, ForwardCompat]] = {}
    for row in _all("forward_compat", parse_forward_compat):
        found.setdefault(row.line, {})[row.branch] = row
    return found


@cache
def jetsons() -> tuple[Jetson, ...]:
    return _all("jetson", parse_jetson)


@cache
def image_tags() -> dict[str, tuple[ImageTag, ...]]:
    """Repository → its tags, the longest first, so that the first that fits is the nearest."""
    found: dict[str, list[ImageTag]] = {}
    for tag in _all("image_tag", parse_image_tag):
        found.setdefault(tag.repository, []).append(tag)
    return {name: tuple(sorted(tags, key=lambda tag: -len(tag.tag))) for name, tags in found.items()}


@cache
def image_repositories() -> dict[str, tuple[ImageRepository, ...]]:
    found: dict[str, list[ImageRepository]] = {}
    for family in _all("image_repository", parse_image_repository):
        found.setdefault(family.repository, []).append(family)
    return {name: tuple(families) for name, families in found.items()}


@cache
def framework_floors() -> dict[str, tuple[FrameworkFloor, ...]]:
    found: dict[str, list[FrameworkFloor]] = {}
    for floor in _all("framework_floor", parse_framework_floor):
        found.setdefault(floor.framework, []).append(floor)
    return {name: tuple(floors) for name, floors in found.items()}


@cache
def framework_libraries() -> dict[str, tuple[FrameworkLibrary, ...]]:
    found: dict[str, list[FrameworkLibrary]] = {}
    for library in _all("framework_library", parse_framework_library):
        found.setdefault(library.framework, []).append(library)
    return {name: tuple(libraries) for name, libraries in found.items()}


@cache
def by_key(name: str, column: str) -> dict[str, tuple[Row, ...]]:
    """A small table as text, by one of its columns: requirement clauses, C libraries, operator releases, instances."""
    found: dict[str, list[Row]] = {}
    for row in rows(name):
        found.setdefault(row[column], []).append(row)
    return {key: tuple(each) for key, each in found.items()}


@cache
def toolkits_of(line: CudaVersion) -> tuple[Toolkit, ...]:
    """Releases of one CUDA line, oldest first."""
    return tuple(sorted((each for each in toolkits() if each.version.line == line), key=lambda each: each.version))


@cache
def first_release(branch: int) -> DriverVersion:
    """Lowest driver of a branch for Linux that a source names, betas too; the branch's start where none does."""
    named = [each.floor for each in toolkits() if each.floor is not None and each.floor.branch == branch]
    if (row := driver_branches().get(branch)) is not None and row.first_release is not None:
        named.append(row.first_release)
    return min(named, default=DriverVersion.start_of(branch))


def floor_of(toolkit: Toolkit, platform: Platform) -> tuple[DriverVersion | None, str]:
    """Driver that a toolkit release shipped with or names for a platform, and the column that says so."""
    if platform is Platform.WINDOWS:
        return toolkit.windows_floor, "min_windows_driver"
    if platform is Platform.LINUX_ARM and toolkit.arm_floor is not None:
        return toolkit.arm_floor, "min_linux_aarch64_driver"
    return toolkit.floor, "min_linux_x86_64_driver"


def minor_floor_of(toolkit: Toolkit, platform: Platform) -> tuple[DriverVersion | None, str]:
    """Lowest driver for programs of a toolkit's major, and the column that says so; None before CUDA 11."""
    if toolkit.minor_floor is None:
        return None, ""
    if platform is Platform.WINDOWS:
        return toolkit.minor_windows_floor, "minor_compat_min_windows_driver"
    return toolkit.minor_floor, "minor_compat_min_driver"


def cuda_ceiling(driver: DriverVersion) -> CudaVersion:
    """Newest CUDA line whose toolkit this driver runs by itself: no minor-version rule, no compat package.

    418.88 gives 10.1. Raises UnknownFact for a driver older than every toolkit of the table.
    Toolkits without a known floor do not count. Source: CUDA release notes, toolkit and driver versions.
    """
    reached = [toolkit.version for toolkit in toolkits() if toolkit.floor is not None and toolkit.floor <= driver]
    if not reached:
        raise UnknownFact(f"no CUDA toolkit with a driver floor at or below {driver} is in the tables")
    return max(reached).line


def native_cuda(driver: DriverVersion, platform: Platform = Platform.LINUX) -> CudaVersion:
    """CUDA line that this driver reports (`nvidia-smi`, `cuda.runtime-version`); raises UnknownFact.

    Not always the ceiling: branch 565 reports 12.7, for which no toolkit was ever published.
    """
    branch = branch_of(driver, platform)
    return branch.native_cuda if branch else cuda_ceiling(driver)


@cache
def branch_of(driver: DriverVersion, platform: Platform = Platform.LINUX) -> DriverBranch | None:
    """The branch that a driver belongs to; None where no table has it.

    Windows counts on inside a branch: R530 is 531 there, R470 is 471 to 474. Everything before the next branch
    belongs to it.
    """
    known = driver_branches()
    if platform is not Platform.WINDOWS:
        return known.get(driver.branch)
    return known.get(max((branch for branch in known if branch <= driver.branch), default=0))


def counted_to(branch: int, platform: Platform) -> int:
    """The highest number that drivers of a branch have: itself, but on Windows all up to the next branch."""
    if platform is not Platform.WINDOWS or branch not in driver_branches():
        return branch
    return min((other for other in driver_branches() if other > branch), default=branch + 1) - 1


def newest_branch() -> int:
    """Newest driver branch of the tables."""
    return max(driver_branches())
