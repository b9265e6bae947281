"""The fact tables as typed rows, read once, on first use.

`data/make.py` writes and validates the files, so reading them here only converts.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from components.compat.versions import ComputeCapability, CudaVersion, DriverVersion

DATA = Path(__file__).parent / "data"


class UnknownFact(LookupError):  # noqa: N818 - an answer, not a fault: it names the fact that no table has
    """No row answers the question; the text names the missing fact."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row comes from. `unverified` names the columns that nobody has checked against the source."""

    source: str
    collected: str
    unverified: frozenset[str]


@dataclass(frozen=True, slots=True)
class GpuModel:
    """One GPU model. `memory_mib` is the nominal size; a driver reports somewhat less."""

    name: str
    compute_capability: ComputeCapability
    family: str  # pascal, turing, …
    memory_mib: int
    gfd_product: str  # as a driver of today reports it; `labels.gfd_product` knows older drivers
    mig_capable: bool | None  # None: not recorded
    origin: Origin

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Toolkit:
    """One CUDA toolkit release. `floor` is None where only the release itself is known."""

    version: CudaVersion
    floor: DriverVersion | None
    precision: str  # exact; branch: floor is the branch's start; inherited: from the update before; unknown
    origin: Origin


@dataclass(frozen=True, slots=True)
class DriverBranch:
    """One driver branch, and the CUDA line that `nvidia-smi` prints for it."""

    branch: int
    native_cuda: CudaVersion
    end_of_life: str  # YYYY-MM, YYYY, `eol` (ended, no date), `n/a` or empty
    origin: Origin


def rows(name: str, folder: Path = DATA) -> list[dict[str, str]]:
    """All rows of one table as text."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def origin(row: dict[str, str]) -> Origin:
    return Origin(row["source"], row["collected"], frozenset(filter(None, row["unverified_cells"].split(";"))))


def parse_gpu_model(row: dict[str, str]) -> GpuModel:
    return GpuModel(
        name=row["model"],
        compute_capability=ComputeCapability.parse(row["compute_capability"]),
        family=row["architecture"].lower(),
        memory_mib=int(row["vram_gib_nominal"]) * 1024,
        gfd_product=row["gfd_product_label"],
        mig_capable={"yes": True, "no": False}.get(row["mig_capable"]),
        origin=origin(row),
    )


def parse_toolkit(row: dict[str, str]) -> Toolkit:
    floor, precision = row["min_linux_x86_64_driver"], row["driver_precision"]
    if precision == "branch":
        floor = f"{floor}.00"  # any release of the branch: the patch level was not seen
    return Toolkit(
        version=CudaVersion.parse(row["cuda_version"]),
        floor=DriverVersion.parse(floor) if floor else None,
        precision=precision,
        origin=origin(row),
    )


def parse_driver_branch(row: dict[str, str]) -> DriverBranch:
    return DriverBranch(int(row["branch"]), CudaVersion.parse(row["native_cuda"]), row["eol"], origin(row))


@cache
def gpu_models() -> tuple[GpuModel, ...]:
    return tuple(map(parse_gpu_model, rows("gpu_model")))


@cache
def toolkits() -> tuple[Toolkit, ...]:
    return tuple(map(parse_toolkit, rows("cuda_driver")))


@cache
def driver_branches() -> dict[int, DriverBranch]:
    return {found.branch: found for found in map(parse_driver_branch, rows("driver_branch"))}


def cuda_ceiling(driver: DriverVersion) -> CudaVersion:
    """Newest CUDA line whose toolkit this driver runs by itself: no minor-version rule, no compat package.

    418.88 gives 10.1. Raises UnknownFact for a driver older than every toolkit of the table.
    Toolkits without a known floor do not count. Source: CUDA release notes, toolkit and driver versions.
    """
    reached = [toolkit.version for toolkit in toolkits() if toolkit.floor is not None and toolkit.floor <= driver]
    if not reached:
        raise UnknownFact(f"no CUDA toolkit with a driver floor at or below {driver} is in the tables")
    return max(reached).line


def native_cuda(driver: DriverVersion) -> CudaVersion:
    """CUDA line that this driver reports (`nvidia-smi`, `cuda.runtime-version`); raises UnknownFact.

    Not always the ceiling: branch 565 reports 12.7, for which no toolkit was ever published.
    """
    branch = driver_branches().get(driver.branch)
    return branch.native_cuda if branch else cuda_ceiling(driver)
