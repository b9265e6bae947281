"""Looks up which driver runs which CUDA and which GPU."""

from functools import cache, lru_cache

from packaging.version import Version

from compat.facts import tables
from compat.facts.rows import Architecture, DriverBranch, Row, Toolkit
from compat.values.fact import Fact
from compat.values.hosts import Gpu, Platform, PoolFacts
from compat.values.images import Code, ImageFacts
from compat.values.versions import CudaVersion, DriverVersion, parse_release


class UnknownFact(LookupError):  # noqa: N818 - an answer, not a fault: it names the missing fact
    """No row answers the question; the text names the missing fact."""


UNPACKS_ZSTD = CudaVersion(12, 4)
"""Its driver, 550.54.14 on Linux, is the first to unpack device code compressed by zstd."""

# --- CUDA


def floor_of(toolkit: Toolkit, platform: Platform) -> tuple[DriverVersion | None, str]:
    """Driver that a toolkit release ships or names for a platform, and the column with it."""
    if platform is Platform.LINUX_ARM and toolkit.arm_floor is not None:
        return toolkit.arm_floor, "min_linux_aarch64_driver"
    return toolkit.floor, "min_linux_x86_64_driver"


def minor_floor_of(toolkit: Toolkit) -> tuple[DriverVersion | None, str]:
    """Lowest driver for programs of a toolkit's major, and the column with it; None before CUDA 11."""
    return (toolkit.minor_floor, "minor_compat_min_driver") if toolkit.has_minor_compatibility else (None, "")


def newest_cuda(driver: DriverVersion) -> CudaVersion:
    """Newest CUDA line that this driver runs natively: no minor-version rule, no compat package.

    418.88 gives 10.1. Raises UnknownFact for a driver older than every toolkit of the table.
    Toolkits without a known floor do not count. Source: CUDA release notes, toolkit and driver versions.
    """
    reached = [
        toolkit.version for toolkit in tables.toolkits() if toolkit.floor is not None and toolkit.floor <= driver
    ]
    if not reached:
        raise UnknownFact(f"no CUDA toolkit with a driver floor at or below {driver} is in the tables")
    return max(reached).line


def native_cuda(driver: DriverVersion) -> CudaVersion:
    """CUDA line that this driver reports (`nvidia-smi`, `cuda.runtime-version`); raises UnknownFact.

    Not always the ceiling: branch 565 reports 12.7, for which no toolkit was ever published.
    """
    branch = branch_of(driver)
    return branch.native_cuda if branch else newest_cuda(driver)


def branch_of(driver: DriverVersion) -> DriverBranch | None:
    """The branch that a driver belongs to; None if no table has it."""
    return tables.driver_branches().get(driver.branch)


def newest_branch() -> int:
    """Newest driver branch of the tables."""
    return max(tables.driver_branches())


@lru_cache(4096)
def native_floor(cuda: CudaVersion, platform: Platform) -> tuple[DriverVersion, Fact] | None:
    """Driver that natively has this CUDA line, or this exact release; None if no table lists one.

    A line stands for its first release. Source: CUDA release notes, table of toolkits and drivers.
    """
    releases = tables.toolkits_of(cuda.line)
    reporting = next((row for row in tables.driver_branches().values() if row.native_cuda == cuda.line), None)
    if not releases and reporting is not None:  # 12.7: a driver has it, and no toolkit was ever published
        fact = reporting.origin.fact(f"drivers of branch {reporting.branch} report CUDA {cuda.line}", "native_cuda")
        return tables.first_release(reporting.branch), fact
    known = [(each, *floor_of(each, platform)) for each in releases]
    stated = [(each, floor, column) for each, floor, column in known if floor is not None]
    if not stated:
        return None
    # A release that is not in the tables needs no newer driver than the one before it.
    older = [row for row in stated if row[0].version <= cuda] if cuda.patch else []
    toolkit, floor, column = older[-1] if older else stated[0]
    text = f"CUDA {toolkit.version} comes with driver {floor}"
    return floor, toolkit.origin.fact(text, column)


def reaches(cuda: CudaVersion, driver: DriverVersion, platform: Platform) -> bool | None:
    """Does the driver natively support this CUDA line and its compiler's PTX? None: no table says."""
    found = native_floor(cuda.line, platform)
    if found is None:
        return True if driver.branch > newest_branch() and cuda.major < 14 else None
    return driver >= found[0]


@lru_cache(4096)
def major_floor(cuda: CudaVersion) -> tuple[DriverVersion, Fact] | None:
    """Lowest driver for programs of this major; None before CUDA 11 and if no table says.

    Source: CUDA release notes, table of minor version compatibility.
    """
    for toolkit in tables.toolkits():
        floor, column = minor_floor_of(toolkit)
        if toolkit.version.major == cuda.major and floor is not None:
            return floor, toolkit.origin.fact(f"CUDA {cuda.major}.x runs on drivers from {floor} on", column)
    return None


def oldest_toolkit(code: Code) -> Architecture | None:
    """Of the targets the one that nvcc learned last, whose `first_cuda` is the oldest that can have made the code."""
    targets = (tables.architectures().get(each.capability) for each in (*(code.cubins or ()), *(code.ptx or ())))
    known = ((each.first_cuda, each) for each in targets if each is not None and each.first_cuda is not None)
    return max(known, key=lambda pair: pair[0], default=(None, None))[1]


# --- GPUs


def first_drivers(gpu: Gpu) -> tuple[DriverVersion, ...]:
    """First drivers for this GPU, one for each branch that a source names; none if no table says.

    Those of its model and of other boards with its chip, else its architecture's first.
    """
    if gpu.drivers is not None:
        return gpu.drivers.turns
    arch = tables.architectures().get(gpu.capability)
    return () if arch is None or arch.first_branch is None else (tables.first_release(arch.first_branch),)


def last_branch(gpu: Gpu) -> int | None:
    """The last driver branch for this GPU, by NVIDIA's name; None if current drivers still support it."""
    arch = tables.architectures().get(gpu.capability)
    return gpu.last_branch if gpu.last_branch is not None or arch is None else arch.last_branch


def last_driver(gpu: Gpu) -> DriverVersion | None:
    """The newest driver for this GPU, which prints as its branch; None if current drivers still support it."""
    last = last_branch(gpu)
    return None if last is None else DriverVersion.end_of(last).given_as(str(last))


def releases_of(branch: int, platform: Platform, gpu: Gpu) -> tuple[DriverVersion, ...]:
    """A bare branch: its first and last release, which print as the branch, and each relevant one between them."""
    named = {
        floor
        for each in tables.toolkits()
        for floor in (floor_of(each, platform)[0], minor_floor_of(each)[0])
        if floor is not None and floor.branch == branch
    }
    first, last = tables.first_release(branch), DriverVersion.end_of(branch)
    turns = gpu.drivers.turns if gpu.drivers is not None else ()
    between = sorted({each for each in (*named, *turns) if first < each < last})
    return (first.given_as(str(branch)), *between, last.given_as(str(branch)))


# Programs whose own behaviour changes at a branch.
TURNS_AT = {"cuda.jl": 580}


def turning_drivers(image: ImageFacts, pool: PoolFacts) -> tuple[DriverVersion, ...]:
    """The oldest driver of the tables, and each one at which a rule's answer may change; lowest first."""
    gpu, platform = pool.gpu, pool.platform
    turns = {tables.first_release(min(tables.driver_branches()))}
    for each in {each for each in (image.cuda, image.built_with, image.compat_line) if each is not None}:
        for found in (native_floor(each, platform), native_floor(each.line, platform), major_floor(each)):
            turns |= {found[0]} if found else set()
        served = tables.forward_compats().get(each.line, {})
        turns |= {tables.first_release(branch) for branch in (*served, *image.compat_branches)}
    turns |= set(first_drivers(gpu))
    last = last_driver(gpu)
    if last is not None:
        newer = min((branch for branch in tables.driver_branches() if branch > last.branch), default=0)
        turns |= {tables.first_release(newer)} if newer else set()
    if image.stated_driver is not None:
        turns.add(image.stated_driver)
    if (branch := TURNS_AT.get(image.framework)) is not None:
        turns.add(tables.first_release(branch))
    if image.may_be_compressed and (found := native_floor(UNPACKS_ZSTD, platform)):
        turns.add(found[0])
    return tuple(sorted(turns))


# --- what the GPU operator installs


def operator_row(text: str) -> Row | None:
    """The row of an operator release such as v25.10.0; None if no table has it."""
    try:
        wanted = parse_release(text.strip().lower().removeprefix("gpu-operator").strip(" -:").removeprefix("v"))
    except ValueError:
        return None
    return _operators().get(wanted)


@cache
def _operators() -> dict[Version, Row]:
    """Operator release → its row."""
    rows = tables.by_key("gpu_operator", "operator_version")
    return {parse_release(release.removeprefix("v")): row for release, (row,) in rows.items()}


def driver_of(row: Row) -> DriverVersion:
    return DriverVersion.parse(row["default_driver"])
