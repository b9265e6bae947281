"""The rows of each table as types. A field names its column and cell reader.

Empty cells are None or empty: a missing fact is unknown, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Self, TypeVar

from packaging.version import Version

from compat.values.fact import Fact
from compat.values.versions import ComputeCapability, CudaVersion, DriverVersion, Target, parse_release

Kind = TypeVar("Kind")
Row = dict[str, str]
LINUX = "linux x86_64"  # as distributions write the system that a wheel is for
LINUX_ARM = "linux aarch64"
_READ = "read"


def parse(kind: Callable[..., Kind], row: Row) -> Kind:
    """A row as its type; raises ValueError for a cell that cannot be read."""
    return kind(**{name: read(row) for name, read in readers(kind)})


@cache
def readers(kind: Any) -> tuple[tuple[str, Callable[[Row], object]], ...]:
    """The fields of a type with their readers."""
    return tuple((each.name, each.metadata[_READ]) for each in fields(kind) if _READ in each.metadata)


def _row(read: Callable[[Row], object]) -> Any:
    return field(metadata={_READ: read})


def _cell(column: str, read: Callable[[str], object] = str) -> Any:
    return _row(lambda row: read(row[column]))


def _maybe(column: str, read: Callable[[str], object]) -> Any:
    """None if the cell is empty."""
    return _cell(column, lambda text: read(text) if text else None)


def _one_of(*allowed: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in allowed:
            raise ValueError(f"{text!r} is not one of {', '.join(allowed)}")
        return text

    return read


def _is(word: str) -> Callable[[str], bool]:
    return lambda text: text == word


def read_floor(text: str) -> DriverVersion:
    """A floor of a table: a bare branch means any release of it."""
    return DriverVersion.parse(text) if "." in text else DriverVersion.start_of(int(text))


def read_targets(text: str) -> tuple[Target, ...] | None:
    """`7.0;9.0a` → targets; `none` → none; empty, `not recorded` and a lowest capability (`>=7.0`) → None."""
    if text in {"", "not recorded"} or text.startswith(">="):
        return None
    return () if text == "none" else tuple(sorted(Target.parse(part) for part in text.split(";")))


def _compressed(text: str) -> tuple[tuple[Target, ...], tuple[Target, ...]] | None:
    """`sm_75;sm_80;compute_80` → cubins and PTX; `none` → none of either; empty → None, not inspected."""
    if not text:
        return None
    parts = [] if text == "none" else text.split(";")
    kinds = ([part for part in parts if part.startswith(kind)] for kind in ("sm_", "compute_"))
    cubins, ptx = (tuple(sorted(map(Target.parse, kind))) for kind in kinds)
    return cubins, ptx


def _releases(text: str) -> tuple[DriverVersion, ...]:
    """`418.74;430.09` → drivers, oldest first."""
    return tuple(sorted(DriverVersion.parse(part) for part in text.split(";") if part))


def _pin(text: str) -> tuple[str, str]:
    """`pytorch 2.7.0`."""
    framework, version = text.split()
    parse_release(version)
    return framework, version


def _lines(text: str) -> list[CudaVersion]:
    """`12.0-12.9` and `11.8|12.4`."""
    return sorted(CudaVersion.parse(line) for line in text.replace("|", "-").split("-"))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a row comes from. `unverified` names columns that have not been checked against the source."""

    source: str
    collected: str
    unverified: frozenset[str]

    @classmethod
    def of(cls, row: Row) -> Self:
        return cls(row["source"], row["collected"], frozenset(filter(None, row["unverified_cells"].split(";"))))

    def fact(self, text: str, *columns: str) -> Fact:
        """`text` as a fact of this row; unverified if one of its columns is."""
        verified = self.source != "unverified" and self.unverified.isdisjoint(columns)
        return Fact(text, self.source, self.collected, verified)


def _origin() -> Any:
    return _row(lambda row: Origin.of(row))  # noqa: PLW0108 - tests replace Origin


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GpuModel:
    """One GPU model. `memory_mib` is the nominal size; a driver reports somewhat less."""

    name: str = _cell("model")
    compute_capability: ComputeCapability = _cell("compute_capability", ComputeCapability.parse)
    family: str = _cell("architecture", str.lower)  # pascal, turing, …
    memory_mib: int = _cell("vram_gib_nominal", lambda text: int(float(text or 0) * 1024))
    product_class: str = _cell("product_class")  # datacenter, workstation, geforce, jetson
    forward_compat: str = _cell("forward_compat_eligible")  # yes, no (GeForce), select NGC-ready RTX only, unknown
    last_driver_branch: int | None = _maybe("last_driver_branch", int)
    gfd_product: str = _cell("gfd_product_label")  # as current drivers report it
    mig_capable: bool | None = _cell("mig_capable", {"yes": True, "no": False}.get)  # None: not recorded
    # AD107; several where boards differ; empty: not recorded
    chips: tuple[str, ...] = _cell("chip", lambda text: tuple(filter(None, text.split(";"))))
    first_drivers: tuple[DriverVersion, ...] = _cell("first_driver", _releases)  # on Linux x86_64, by branch
    not_in_drivers: tuple[DriverVersion, ...] = _cell("not_in_driver", _releases)  # by branch, the newest without it
    first_mig_driver: DriverVersion | None = _maybe("first_mig_driver", DriverVersion.parse)  # the oldest with slices
    origin: Origin = _origin()

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Architecture:
    """One compute capability: the toolkits that compile for it and the driver branches that support it."""

    capability: ComputeCapability = _cell("compute_capability", ComputeCapability.parse)
    name: str = _cell("architecture")
    first_cuda: CudaVersion | None = _maybe("first_cuda", CudaVersion.parse)
    last_cuda: CudaVersion | None = _maybe("last_cuda", CudaVersion.parse)  # None: still supported by CUDA
    first_branch: int | None = _maybe("first_driver_branch", int)
    last_branch: int | None = _maybe("last_driver_branch", int)  # None: still supported by drivers
    open_kernel_module: str = _cell("open_kernel_module")
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Toolkit:
    """One CUDA toolkit release. `floor` is None if only the release itself is known."""

    version: CudaVersion = _cell("cuda_version", CudaVersion.parse)
    floor: DriverVersion | None = _maybe("min_linux_x86_64_driver", read_floor)
    has_minor_compatibility: bool = _cell("minor_compat_applies", _is("yes"))
    minor_floor: DriverVersion | None = _maybe("minor_compat_min_driver", read_floor)  # of its major
    arm_floor: DriverVersion | None = _maybe("min_linux_aarch64_driver", read_floor)
    released: str = _cell("released")  # YYYY-MM; empty: not known
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DriverBranch:
    """One driver branch, and the CUDA line that `nvidia-smi` prints for it."""

    branch: int = _cell("branch", int)
    native_cuda: CudaVersion = _cell("native_cuda", CudaVersion.parse)
    end_of_life: str = _cell("eol")  # YYYY-MM, YYYY, `eol` (ended, no date), `n/a` or empty
    first_release: DriverVersion | None = _maybe("first_release", DriverVersion.parse)  # on Linux, betas too
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Build:
    """One build of a framework: version by CUDA variant by distribution."""

    framework: str = _cell("framework")
    version: str = _cell("version")
    distribution: str = _cell("distribution")
    variant: str = _cell("variant")
    cuda: CudaVersion | None = _maybe("cuda", CudaVersion.parse)
    is_default: bool = _cell("is_pypi_default", _is("yes"))
    cudnn: str = _cell("cudnn")
    cubins: tuple[Target, ...] | None = _cell("sm_list", read_targets)  # None: not recorded
    ptx: tuple[Target, ...] | None = _cell("ptx", read_targets)
    ptx_cuda: CudaVersion | None = _maybe("ptx_cuda", CudaVersion.parse)  # the first that knows the PTX
    basis: str = _cell("sm_list_basis")
    compressed: tuple[tuple[Target, ...], tuple[Target, ...]] | None = _cell("compressed", _compressed)  # cubins, PTX
    at_least: ComputeCapability | None = _cell(
        "sm_list", lambda text: ComputeCapability.parse(text[2:]) if text.startswith(">=") else None
    )
    lowest_capability: ComputeCapability | None = _maybe("cc_min", ComputeCapability.parse)
    stated_driver: DriverVersion | None = _maybe("requires_driver", read_floor)
    pins: tuple[str, str] | None = _maybe("pins", _pin)  # framework and version that it brings
    origin: Origin = _origin()
    beside: Build | None = None  # the wheel of `pins`, if both have a list of targets: both must run
    alone: Build | None = None  # the row itself, if its pinned wheel was added


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Cudnn:
    """One cuDNN release for a range of CUDA lines; the first of a range of releases stands for all."""

    first: Version = _cell("cudnn_version", lambda text: parse_release(text.partition("-")[0]))
    first_cuda: CudaVersion = _cell("cuda_versions", lambda text: _lines(text)[0])
    last_cuda: CudaVersion = _cell("cuda_versions", lambda text: _lines(text)[-1])
    lowest: ComputeCapability = _cell("cc_min", ComputeCapability.parse)
    highest: ComputeCapability = _cell("cc_max", ComputeCapability.parse)
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ContainerToolkit:
    """Behaviour of the container toolkit, from this release up to the next."""

    version: Version = _cell("version", parse_release)
    compat_libraries: str = _cell("compat_libraries", _one_of("mounted", "ignored", "hook"))  # of an image
    checks_require: bool = _cell(  # NVIDIA_REQUIRE_*, in its default mode
        "checks_require", lambda text: _one_of("yes", "no")(text) == "yes"
    )
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Nccl:
    """One NCCL release as it was built."""

    version: Version = _cell("nccl_version", parse_release)
    cubins: tuple[Target, ...] = _cell("sm_list", lambda text: read_targets(text) or ())
    ptx: tuple[Target, ...] | None = _cell("ptx", read_targets)
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ForwardCompat:
    """Does the compat package of a CUDA line work on a host branch?"""

    line: CudaVersion = _cell("compat_line", lambda text: CudaVersion.parse(text.replace("-", ".")))
    branch: int = _cell("host_branch", int)
    works: bool = _cell("works", _is("yes"))
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ImageTag:
    """Facts from the notes of an image; the tag may end in `*`."""

    repository: str = _cell("repository")
    tag: str = _cell("tag")
    cells: Row = _row(lambda row: row)
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ImageRepository:
    """How to read the tags of an image family."""

    repository: str = _cell("repository")
    kind: str = _cell("kind")
    framework: str = _cell("framework")
    pattern: str = _cell("tag_pattern")
    repository_pattern: str = _cell("repository_pattern")  # if the repository's name states it, not the tag
    cpu_pattern: str = _cell("cpu_pattern")  # tags that hold no CUDA
    compat_package: str = _cell("compat_package")
    cpu_arch: str = _cell("cpu_arch")
    base: str = _cell("base")  # with {parts} of the tag; source of clause, compat package and C library
    clause: str = _cell("clause")  # NVIDIA_REQUIRE_CUDA, if the family has its own
    compat_use: str = _cell("compat_use")  # `checked`, `first`, or empty: left to the container toolkit
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrameworkFloor:
    """A project's lowest compute capability for a range of its versions."""

    framework: str = _cell("framework")
    first: Version = _cell("from_version", lambda text: parse_release(text or "0"))
    before: Version | None = _maybe("to_version", parse_release)
    capability: ComputeCapability = _cell("cc_min", lambda text: ComputeCapability.parse(text or "1.0"))
    highest: ComputeCapability | None = _maybe("cc_max", ComputeCapability.parse)
    reason: str = _cell("reason")
    severity: str = _cell("severity")
    of_wheels: bool = _cell("only", _is("wheels"))  # applies to the published wheels only, not to the code
    origin: Origin = _origin()


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FrameworkLibrary:
    """A library that a framework build needs, and its lowest version."""

    framework: str = _cell("framework")
    version: str = _cell("version")  # exact, or with a trailing `.*`
    variant: str = _cell("variant")
    library: str = _cell("library")
    minimum: str = _cell("minimum")
    origin: Origin = _origin()

    def is_for(self, version: Version) -> bool:
        if self.version.endswith(".*"):
            wanted = tuple(int(part) for part in self.version[:-2].split("."))
            return version.release[: len(wanted)] == wanted
        return self.version[:1].isdigit() and Version(self.version) == version
