"""Check the tables of this folder, which are the source of every fact: `python -m compat.data.check`.

A table begins with the columns of its key and ends with `unverified_cells` (columns from memory), `notes`, `source` and
`collected` (the day the source was read). Rows are in order, each key once, and every cell can be read.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from compat import rows, tables
from compat.images import read_image
from compat.rows import Row, parse
from compat.versions import CudaVersion, DriverVersion, parse_release

ABOUT = ("unverified_cells", "notes", "source", "collected")


class TableError(ValueError):
    """What is wrong with the tables, a line for each mistake."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its key, the reader that must accept every row, and the order of its rows."""

    name: str
    key: tuple[str, ...]
    read: Callable[[Row], object]
    order: Callable[[Row], Any] | None = None  # None: by the text of the key
    refers: tuple[str, str] = ("", "")  # a column, and the table that has its values

    def order_of(self, row: Row) -> Any:
        return self.order(row) if self.order else tuple(row[column] for column in self.key)


def _yes_no(row: Row) -> None:
    if row["compat_package"] not in {"yes", "no", ""}:
        raise ValueError(f"compat_package is {row['compat_package']!r}, not yes or no")


def _operator(row: Row) -> None:
    DriverVersion.parse(row["default_driver"])
    parse_release(row["operator_version"].removeprefix("v"))


def _ami(row: Row) -> None:
    for driver in row["nvidia_driver"].split("|"):  # two where a release has an image for each branch
        if driver not in {"", "none", "unknown"}:
            rows.read_floor(driver.removesuffix(".x"))  # 580.x: only the branch is known


def _instance(row: Row) -> None:
    if row["min_driver"]:
        rows.read_floor(row["min_driver"])
    if row["max_driver_branch"]:
        int(row["max_driver_branch"])


def _glibc(row: Row) -> None:
    if row["glibc"] != "musl":
        parse_release(row["glibc"])


def _repository(row: Row) -> None:
    re.compile(row["tag_pattern"])
    parse(rows.ImageRepository, row)


def _by_cuda(row: Row) -> Any:
    return CudaVersion.parse(row["cuda_version"])


def _by_capability(row: Row) -> Any:
    return (*(int(part) for part in row["compute_capability"].split(".")), row.get("model", ""))


def _by_build(row: Row) -> Any:
    version = row["version"]
    number = parse_release(version) if re.match(r"\d", version) else parse_release("9999")
    cuda = CudaVersion.parse(row["cuda"]) if row["cuda"] else CudaVersion(1, 0)
    return row["framework"], number, version, cuda, row["distribution"], row["variant"]


def _by_cudnn(row: Row) -> Any:
    return parse_release(row["cudnn_version"].partition("-")[0]), row["cuda_versions"]


def _by_operator(row: Row) -> Any:
    return parse_release(row["operator_version"].removeprefix("v"))


def _by_version(row: Row) -> Any:
    return parse_release(row["version"])


_MODEL, _ARCH = partial(parse, rows.GpuModel), partial(parse, rows.Architecture)
_LIBRARY, _FLOOR = partial(parse, rows.FrameworkLibrary), partial(parse, rows.FrameworkFloor)
_TAG, _TOOLKIT = partial(parse, rows.ImageTag), partial(parse, rows.ContainerToolkit)
TABLES = (
    Table("cuda_driver", ("cuda_version",), partial(parse, rows.Toolkit), _by_cuda),
    Table("driver_branch", ("branch",), partial(parse, rows.DriverBranch), lambda row: int(row["branch"])),
    Table("gpu_arch", ("compute_capability",), _ARCH, _by_capability),
    Table("gpu_model", ("model",), _MODEL, _by_capability, ("compute_capability", "gpu_arch")),
    Table("framework", ("framework", "version", "distribution", "variant"), partial(parse, rows.Build), _by_build),
    Table("cudnn", ("cudnn_version", "cuda_versions"), partial(parse, rows.Cudnn), _by_cudnn),
    Table("ec2_gpu_instances", ("instance_type",), _instance),
    Table("eks_ami", ("ami_type", "release", "k8s_versions"), _ami),
    Table("forward_compat", ("compat_line", "host_branch"), partial(parse, rows.ForwardCompat)),
    Table("jetson", ("jetpack",), partial(parse, rows.Jetson)),
    Table("require", ("repository", "cuda_version"), _yes_no, _by_cuda),
    Table("image_tag", ("repository", "tag"), _TAG),
    Table("image_repository", ("repository", "tag_pattern", "repository_pattern"), _repository),
    Table("gpu_operator", ("operator_version",), _operator, _by_operator),
    Table("glibc", ("os",), _glibc),
    Table("image_example", ("reference",), lambda row: read_image(row["reference"])),
    Table("nccl", ("nccl_version", "cuda_versions"), partial(parse, rows.Nccl)),
    Table("container_toolkit", ("version",), _TOOLKIT, _by_version),
    Table("framework_floor", ("framework", "from_version", "to_version", "cc_min"), _FLOOR),
    Table("framework_library", ("framework", "version", "variant", "library"), _LIBRARY),
)


def check(folder: Path = tables.DATA) -> None:
    """Raise TableError with every mistake in the tables of a folder, by table and row."""
    read = {table.name: tables.rows(table.name, folder) for table in TABLES}
    mistakes = [f"{path.name} is not a table of compat.data.check" for path in _strangers(folder)]
    for table in TABLES:
        mistakes += [f"{table.name}.csv{mistake}" for mistake in _mistakes(table, read)]
    if mistakes:
        raise TableError("\n".join(mistakes))


def _strangers(folder: Path) -> list[Path]:
    known = {table.name for table in TABLES}
    return sorted(path for path in folder.glob("*.csv") if path.stem not in known)


def _mistakes(table: Table, read: dict[str, list[Row]]) -> Iterator[str]:
    found = read[table.name]
    header = tuple(found[0]) if found else ()
    if header[: len(table.key)] != table.key or header[-len(ABOUT) :] != ABOUT:
        yield f": has to begin with {', '.join(table.key)} and to end with {', '.join(ABOUT)}"
        return
    column, other = table.refers
    known = {row[column] for row in read[other]} if other else set()
    seen: set[tuple[str, ...]] = set()
    before: Row | None = None
    for row in found:
        key = tuple(row[name] for name in table.key)
        mistakes = [*_row_mistakes(table, row, header)]
        if key in seen:
            mistakes.append("is duplicated")
        if other and row[column] not in known:
            mistakes.append(f"{column} {row[column]!r} is not in {other}.csv")
        if not mistakes and before is not None and table.order_of(row) < table.order_of(before):
            mistakes.append("comes before the row above it")
        yield from (f", row {' '.join(filter(None, key))}: {mistake}" for mistake in mistakes)
        before = before if mistakes else row
        seen.add(key)


def _row_mistakes(table: Table, row: Row, header: tuple[str, ...]) -> Iterator[str]:
    if None in row or None in row.values():
        yield f"does not have {len(header)} cells"
        return
    if not row["source"].strip():
        yield "has no source"
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", row["collected"]):
        yield f"collected is {row['collected']!r}, not a day such as 2026-11-21"
    if unknown := {*filter(None, row["unverified_cells"].split(";"))} - {*header}:
        yield f"unverified_cells names {', '.join(sorted(unknown))}, which is not a column"
    try:
        table.read(row)
    except (ValueError, KeyError, re.error) as error:
        yield str(error)


def main() -> int:
    """Exit status: 1, with a line for each mistake on stderr, where something is wrong."""
    try:
        check()
    except (TableError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a script's own output
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
