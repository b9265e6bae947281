"""Checks the tables, the source of every fact: `python -m tools.tables`.

A table begins with its key columns and ends with `unverified_cells` (columns from memory), `notes`, `source` and
`collected` (the day the source was read). Rows are in order, each key once, and every cell can be read.
"""

from __future__ import annotations

import csv
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from compat.facts import csv_files, rows
from compat.facts.csv_files import DATA
from compat.facts.rows import Row
from compat.values.versions import ComputeCapability, CudaVersion, DriverVersion, parse_release

ABOUT = ("unverified_cells", "notes", "source", "collected")
Read = Callable[[Row], object]


class TableError(ValueError):
    """The mistakes in the tables, one line each."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its key columns and the others, the readers that must accept every row, and its order."""

    name: str
    key: tuple[str, ...]
    others: str
    reads: tuple[Read, ...]
    order: Callable[[Row], Any] | None = None  # None: by the text of the key
    refers: tuple[str, str] = ("", "")  # a column, and the table that lists its values

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.key, *self.others.split(), *ABOUT)

    def order_of(self, row: Row) -> Any:
        return self.order(row) if self.order else tuple(row[column] for column in self.key)


def _of(kind: type) -> tuple[Read, ...]:
    return tuple(read for _, read in rows.readers(kind))


def cell(column: str, read: Callable[[str], object]) -> Read:
    """Reader of a cell that may be empty."""
    return lambda row: read(row[column]) if row[column] else None


def one_of(column: str, *allowed: str) -> Read:
    """Reader of a cell that is empty or holds one of these words."""

    def read(text: str) -> None:
        if text not in allowed:
            raise ValueError(f"{column} is {text!r}, not {' or '.join(allowed)}")

    return cell(column, read)


def _release(text: str) -> object:
    return parse_release(text.removeprefix("v"))


def _drivers_of_image(text: str) -> None:
    for driver in text.split("|"):  # two if a release has an image for each branch
        if driver not in {"none", "unknown"}:
            rows.read_floor(driver.removesuffix(".x"))  # 580.x: only the branch is known


def _glibc(text: str) -> None:
    if text != "musl":
        parse_release(text)


def _by_cuda(row: Row) -> Any:
    return CudaVersion.parse(row["cuda_version"])


def _by_capability(row: Row) -> Any:
    return ComputeCapability.parse(row["compute_capability"]), row.get("model", "")


def _by_build(row: Row) -> Any:
    version = row["version"]
    number = parse_release(version) if re.match(r"\d", version) else parse_release("9999")
    cuda = CudaVersion.parse(row["cuda"]) if row["cuda"] else CudaVersion(1, 0)
    return row["framework"], number, version, cuda, row["distribution"], row["variant"]


def _by_cudnn(row: Row) -> Any:
    return parse_release(row["cudnn_version"].partition("-")[0]), row["cuda_versions"]


def _by_operator(row: Row) -> Any:
    return _release(row["operator_version"])


def _by_version(row: Row) -> Any:
    return parse_release(row["version"])


TABLES = (
    Table(
        "cuda_driver",
        ("cuda_version",),
        "min_linux_x86_64_driver driver_precision minor_compat_applies minor_compat_min_driver "
        "min_linux_aarch64_driver released",
        _of(rows.Toolkit),
        _by_cuda,
    ),
    Table(
        "driver_branch",
        ("branch",),
        "native_cuda branch_type eol last_branch_for open_kernel_modules first_release",
        _of(rows.DriverBranch),
        lambda row: int(row["branch"]),
    ),
    Table(
        "gpu_arch",
        ("compute_capability",),
        "architecture first_cuda last_cuda first_driver_branch last_driver_branch open_kernel_module",
        _of(rows.Architecture),
        _by_capability,
    ),
    Table(
        "gpu_model",
        ("model",),
        "architecture compute_capability vram_gib_nominal product_class last_driver_branch mig_capable "
        "mig_profiles gfd_product_label forward_compat_eligible also_called chip first_driver "
        "not_in_driver first_mig_driver",
        _of(rows.GpuModel),
        _by_capability,
        refers=("compute_capability", "gpu_arch"),
    ),
    Table(
        "framework",
        ("framework", "version", "distribution", "variant"),
        "python cuda is_pypi_default cudnn sm_list ptx ptx_cuda sm_list_basis compressed cc_min requires_driver pins",
        _of(rows.Build),
        _by_build,
    ),
    Table("cudnn", ("cudnn_version", "cuda_versions"), "min_linux_driver cc_min cc_max", _of(rows.Cudnn), _by_cudnn),
    Table(
        "ec2_gpu_instances",
        ("instance_type",),
        "gpu_model gpu_vendor gpu_count host_arch min_driver max_driver_branch eks_managed_ami_types",
        (one_of("host_arch", "amd64", "arm64"), cell("min_driver", rows.read_floor), cell("max_driver_branch", int)),
    ),
    Table(
        "eks_ami",
        ("ami_type", "release", "k8s_versions"),
        "nvidia_driver driver_branch nvidia_container_toolkit persistenced_enabled kernel_module",
        (cell("nvidia_driver", _drivers_of_image),),
    ),
    Table("forward_compat", ("compat_line", "host_branch"), "works", _of(rows.ForwardCompat)),
    Table(
        "require",
        ("repository", "cuda_version"),
        "clause compat_package",
        (one_of("compat_package", "yes", "no"),),
        _by_cuda,
    ),
    Table(
        "image_tag",
        ("repository", "tag"),
        "cuda cudnn nccl framework framework_version sm_list ptx min_driver compat_package "
        "compat_host_branches cc_min os cpu_arch base compat_use",
        (
            *_of(rows.ImageTag),
            one_of("compat_package", "yes", "no"),
            cell("sm_list", rows.read_targets),
            cell("ptx", rows.read_targets),
            cell("cc_min", ComputeCapability.parse),
        ),
    ),
    Table(
        "image_repository",
        ("repository", "tag_pattern", "repository_pattern"),
        "kind framework cpu_pattern cuda_from compat_package cpu_arch base clause compat_use",
        (
            *_of(rows.ImageRepository),
            *(cell(each, re.compile) for each in ("tag_pattern", "repository_pattern", "cpu_pattern")),
            one_of("compat_package", "yes", "no"),
        ),
    ),
    Table(
        "gpu_operator",
        ("operator_version",),
        "date default_driver kernel_module container_toolkit",
        (lambda row: DriverVersion.parse(row["default_driver"]),),
        _by_operator,
    ),
    Table("glibc", ("os",), "glibc", (lambda row: _glibc(row["glibc"]),)),
    Table(
        "image_example",
        ("reference",),
        "cuda cudnn framework framework_version os",
        (),
    ),
    Table("nccl", ("nccl_version", "cuda_versions"), "sm_list ptx", _of(rows.Nccl)),
    Table(
        "container_toolkit",
        ("version",),
        "date compat_libraries auto_mode checks_require",
        _of(rows.ContainerToolkit),
        _by_version,
    ),
    Table(
        "framework_floor",
        ("framework", "from_version", "to_version", "cc_min"),
        "cc_max reason severity only",
        _of(rows.FrameworkFloor),
    ),
    Table("framework_library", ("framework", "version", "variant", "library"), "minimum", _of(rows.FrameworkLibrary)),
)


def check(folder: Path = DATA, expected: Sequence[Table] = TABLES) -> None:
    """Raise TableError with every mistake in a folder's tables, by table and row."""
    known = {table.name for table in expected}
    strangers = sorted(path.name for path in folder.glob("*.csv") if path.stem not in known)
    mistakes = [f"{name} is not a table of the check beside it" for name in strangers]
    read: dict[str, list[Row]] = {}
    for table in expected:
        try:
            read[table.name] = csv_files.rows(table.name, folder)
        except (OSError, ValueError, csv.Error) as error:
            mistakes.append(f"{table.name}.csv cannot be read: {error}")
    for table in expected:
        if table.name in read:
            mistakes += [f"{table.name}.csv{mistake}" for mistake in _mistakes(table, read)]
    if mistakes:
        raise TableError("\n".join(mistakes))


def _mistakes(table: Table, read: dict[str, list[Row]]) -> Iterator[str]:
    found = read[table.name]
    header = tuple(filter(None, found[0])) if found else ()
    if header != table.columns:
        yield f": its columns have to be {', '.join(table.columns)}"
        return
    column, other = table.refers
    known = {row.get(column) for row in read.get(other, ())} - {None}  # none: the other table is reported itself
    seen: set[tuple[str, ...]] = set()
    before: Any = None
    for row in found:
        key = tuple(row[name] for name in table.key)
        place, mistakes = _read(table, row)
        if key in seen:
            mistakes.append("is duplicated")
        if known and row[column] not in known:
            mistakes.append(f"{column} {row[column]!r} is not in {other}.csv")
        if not mistakes and before is not None and place < before:
            mistakes.append("comes before the row above it")
        yield from (f", row {' '.join(filter(None, key))}: {mistake}" for mistake in mistakes)
        before = before if mistakes else place
        seen.add(key)


def _read(table: Table, row: Row) -> tuple[Any, list[str]]:
    """The place of the row in the order, and the mistakes in its cells."""
    if None in row or None in row.values():
        return None, [f"does not have {len(table.columns)} cells"]
    mistakes: list[str] = []
    if not row["source"].strip():
        mistakes.append("has no source")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", row["collected"]):
        mistakes.append(f"collected is {row['collected']!r}, not a day such as 2026-11-21")
    if unknown := {*filter(None, row["unverified_cells"].split(";"))} - {*table.columns}:
        mistakes.append(f"unverified_cells names {', '.join(sorted(unknown))}, which is not a column")
    place: Any = None
    for read in (*table.reads, table.order_of):
        try:
            place = read(row)
        except (ValueError, re.error) as error:
            mistakes.append(str(error))
    return place, [*dict.fromkeys(mistakes)]  # two readers of one cell find the same mistake


def main(folder: Path = DATA, expected: Sequence[Table] = TABLES) -> int:
    """Exit status: 1, with a line for each mistake on stderr, if there are any."""
    try:
        check(folder, expected)
    except TableError as error:
        for mistake in str(error).splitlines():
            print(f"error: {mistake}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
