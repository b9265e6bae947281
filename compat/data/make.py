"""Make the tables of this folder from the fact tables and our additions, and check that they still are what was made.

    python -m compat.data.make FACTS     write the tables and SHA256SUMS
    python -m compat.data.make           check what is committed; needs no facts, changes nothing

FACTS is a folder with `README.md` (its line `Collected YYYY-MM-DD` dates its rows) and the full tables.
`additions/<table>.csv` and `additions/<table>_<anything>.csv` hold what we found since: a row with a known key
replaces the cells that it states (`-` empties one), and with them what was marked as unverified; another key is a new
row. Cells from memory stay named in `unverified_cells`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from compat import tables
from compat.images import read_image
from compat.tables import Row
from compat.versions import CudaVersion, DriverVersion, parse_release

HERE = Path(__file__).parent
ADDITIONS = HERE / "additions"
SUMS = "SHA256SUMS"
ABOUT = ("unverified_cells", "notes", "source", "collected")


class TableError(ValueError):
    """The facts, or the committed tables, are not what they should be; the text says where."""


def _cuda_order(row: Row) -> object:
    return CudaVersion.parse(row["cuda_version"])


def _capability_order(row: Row) -> object:
    return (*(int(part) for part in row["compute_capability"].split(".")), row.get("model", ""))


def _build_order(row: Row) -> object:
    version = row["version"]
    number = parse_release(version) if re.match(r"\d", version) else parse_release("9999")
    cuda = CudaVersion.parse(row["cuda"]) if row["cuda"] else CudaVersion(1, 0)
    return row["framework"], number, version, cuda, row["distribution"], row["variant"]


@dataclass(frozen=True, slots=True)
class Table:
    """One table: its key, the other columns we take, its order, the reader that must accept every row."""

    name: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    parse: Callable[[Row], object]
    order: Callable[[Row], object] | None = None
    refers: dict[str, tuple[str, str]] = field(default_factory=dict)  # column → (table, column) that must have it
    same: Callable[[Row, Row], Row] | None = None  # two rows of one key as one
    by_column: bool = False  # additions state columns of their own: what they leave keeps its source

    @property
    def header(self) -> tuple[str, ...]:
        return (*self.key, *self.columns, *ABOUT)

    def sorted(self, rows: Iterable[Row]) -> list[Row]:
        return sorted(rows, key=self.order or (lambda row: tuple(row[column] for column in self.key)))  # type: ignore[arg-type]  # each table orders by one type


def _same_build(one: Row, other: Row) -> Row:
    """A release that was built for several Pythons, or twice: what both have is what a user can count on."""
    lists = [row["sm_list"].split(";") for row in (one, other)]
    shared = ";".join(target for target in lists[0] if target in lists[1])
    python = "/".join(dict.fromkeys(filter(None, (one["python"], other["python"]))))
    told = other if other["sm_list"] or not one["sm_list"] else one
    return {**told, "python": python, "sm_list": shared if all(map(any, lists)) else told["sm_list"]}


def _yes_no(*columns: str) -> Callable[[Row], object]:
    def parse(row: Row) -> None:
        for column in columns:
            if row[column] not in {"yes", "no", ""}:
                raise ValueError(f"{column} is {row[column]!r}, not yes or no")

    return parse


def _operator(row: Row) -> None:
    DriverVersion.parse(row["default_driver"])
    parse_release(row["operator_version"].removeprefix("v"))


def _ami(row: Row) -> None:
    for driver in row["nvidia_driver"].split("|"):  # two where a release has an image for each branch
        if driver not in {"", "none", "unknown"}:
            tables.parse_driver_floor(driver.removesuffix(".x"))  # 580.x: only the branch is known


def _instance(row: Row) -> None:
    if row["min_driver"]:
        tables.parse_driver_floor(row["min_driver"])
    if row["max_driver_branch"]:
        int(row["max_driver_branch"])


def _glibc(row: Row) -> None:
    if row["glibc"] != "musl":
        parse_release(row["glibc"])


def _pattern(row: Row) -> None:
    re.compile(row["tag_pattern"])
    tables.parse_image_repository(row)


TABLES = (
    Table(
        "cuda_driver",
        ("cuda_version",),
        (
            "min_linux_x86_64_driver",
            "driver_precision",
            "minor_compat_applies",
            "minor_compat_min_driver",
            "min_windows_driver",
            "minor_compat_min_windows_driver",
            "min_linux_aarch64_driver",
            "release_date",
        ),
        tables.parse_toolkit,
        _cuda_order,
    ),
    Table(
        "driver_branch",
        ("branch",),
        ("native_cuda", "branch_type", "eol", "last_branch_for", "open_kernel_modules", "first_release"),
        tables.parse_driver_branch,
        lambda row: int(row["branch"]),
        by_column=True,
    ),
    Table(
        "gpu_arch",
        ("compute_capability",),
        ("architecture", "first_cuda", "last_cuda", "first_driver_branch", "last_driver_branch", "open_kernel_module"),
        tables.parse_architecture,
        _capability_order,
    ),
    Table(
        "gpu_model",
        ("model",),
        (
            "architecture",
            "compute_capability",
            "vram_gib_nominal",
            "product_class",
            "last_driver_branch",
            "mig_capable",
            "mig_profiles",
            "gfd_product_label",
            "forward_compat_eligible",
            "also_called",
            "chip",
            "first_driver",
            "not_in_driver",
            "first_mig_driver",
        ),
        tables.parse_gpu_model,
        _capability_order,
        {"compute_capability": ("gpu_arch", "compute_capability")},
        by_column=True,
    ),
    Table(
        "framework",
        ("framework", "version", "distribution", "variant"),
        (
            "python",
            "cuda",
            "is_pypi_default",
            "cudnn",
            "sm_list",
            "ptx",
            "ptx_cuda",
            "sm_list_basis",
            "cc_min",
            "requires_driver",
            "pins",
        ),
        tables.parse_build,
        _build_order,
        same=_same_build,
    ),
    Table(
        "cudnn",
        ("cudnn_version", "cuda_versions"),
        ("min_linux_driver", "cc_min", "cc_max"),
        tables.parse_cudnn,
        lambda row: (parse_release(row["cudnn_version"].partition("-")[0]), row["cuda_versions"]),
    ),
    Table(
        "ec2_gpu_instances",
        ("instance_type",),
        (
            "gpu_model",
            "gpu_vendor",
            "gpu_count",
            "host_arch",
            "min_driver",
            "max_driver_branch",
            "eks_managed_ami_types",
        ),
        _instance,
        by_column=True,
    ),
    Table(
        "eks_ami",
        ("ami_type", "release", "k8s_versions"),
        ("nvidia_driver", "driver_branch", "nvidia_container_toolkit", "persistenced_enabled", "kernel_module"),
        _ami,
    ),
    Table("forward_compat", ("compat_line", "host_branch"), ("works",), tables.parse_forward_compat),
    Table("jetson", ("jetpack",), ("l4t", "cuda", "modules", "cuda_upgradable_to"), tables.parse_jetson),
    Table(
        "require", ("repository", "cuda_version"), ("clause", "compat_package"), _yes_no("compat_package"), _cuda_order
    ),
    Table(
        "image_tag",
        ("repository", "tag"),
        (
            "cuda",
            "cudnn",
            "nccl",
            "framework",
            "framework_version",
            "sm_list",
            "ptx",
            "min_driver",
            "compat_package",
            "compat_host_branches",
            "cc_min",
            "os",
            "cpu_arch",
            "base",
            "compat_use",
        ),
        tables.parse_image_tag,
    ),
    Table(
        "image_repository",
        ("repository", "tag_pattern", "repository_pattern"),
        (
            "kind",
            "framework",
            "cpu_pattern",
            "cuda_from",
            "compat_package",
            "cpu_arch",
            "base",
            "clause",
            "compat_use",
        ),
        _pattern,
    ),
    Table(
        "gpu_operator",
        ("operator_version",),
        ("date", "default_driver", "kernel_module", "container_toolkit"),
        _operator,
        lambda row: parse_release(row["operator_version"].removeprefix("v")),
    ),
    Table("glibc", ("os",), ("glibc",), _glibc),
    Table(
        "image_example",
        ("reference",),
        ("cuda", "cudnn", "framework", "framework_version", "os"),
        lambda row: read_image(row["reference"]),
    ),
    Table("nccl", ("nccl_version", "cuda_versions"), ("sm_list", "ptx"), tables.parse_nccl),
    Table(
        "container_toolkit",
        ("version",),
        ("date", "compat_libraries", "auto_mode", "checks_require"),
        tables.parse_container_toolkit,
        lambda row: parse_release(row["version"]),
    ),
    Table(
        "framework_floor",
        ("framework", "from_version", "to_version", "cc_min"),
        ("cc_max", "reason", "severity", "only"),
        tables.parse_framework_floor,
    ),
    Table(
        "framework_library",
        ("framework", "version", "variant", "library"),
        ("minimum",),
        tables.parse_framework_library,
    ),
)


def make(facts: Path, additions: Path = ADDITIONS) -> dict[str, str]:
    """File name → text of every table and of SHA256SUMS; raises TableError or OSError."""
    collected = _collected(facts / "README.md")
    merged = {table.name: _merged(table, facts, additions, collected) for table in TABLES}
    for table in TABLES:
        _validate(table, merged[table.name], merged)
    made = {f"{table.name}.csv": _text(table, merged[table.name]) for table in TABLES}
    inputs = {f"facts/{path.name}": path for path in [facts / "README.md", *(facts / f"{t.name}.csv" for t in TABLES)]}
    inputs |= {f"additions/{path.name}": path for path in _additions(additions)}
    taken = {path for table in TABLES for path in _additions_to(table, additions)}
    if idle := [path.name for path in _additions(additions) if path not in taken]:
        raise TableError(f"additions/{idle[0]} is of no table: name it <table>.csv or <table>_<anything>.csv")
    sums = [f"{_sum(path.read_bytes())}  {name}" for name, path in sorted(inputs.items()) if path.is_file()]
    sums += [f"{_sum(text.encode())}  {name}" for name, text in sorted(made.items())]
    return made | {SUMS: "\n".join(sums) + "\n"}


def check(folder: Path = HERE) -> None:
    """Raise TableError if a committed table or addition was edited without a new `make`, or no longer reads."""
    sums = dict(line.split("  ")[::-1] for line in (folder / SUMS).read_text(encoding="utf-8").splitlines())
    committed = {f"{table.name}.csv": folder / f"{table.name}.csv" for table in TABLES}
    committed |= {f"additions/{path.name}": path for path in _additions(folder / "additions")}
    for name, path in committed.items():
        if _sum(path.read_bytes()) != sums.get(name):
            raise TableError(f"{name} is not what make.py saw or wrote: change facts or additions, then run it")
    read = {table.name: tables.rows(table.name, folder) for table in TABLES}
    for table in TABLES:
        _validate(table, read[table.name], read)


def _collected(readme: Path) -> str:
    match = re.search(r"^Collected (\d{4}-\d{2}-\d{2})\b", readme.read_text(encoding="utf-8"), re.MULTILINE)
    if not match:
        raise TableError(f"{readme} has no line that begins with `Collected YYYY-MM-DD`")
    return match[1]


def _additions(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.csv")) if folder.is_dir() else []


def _additions_to(table: Table, folder: Path) -> Iterator[Path]:
    """Files named after the table, or after it and a word: framework_floor_reports.csv is of framework_floor."""
    for path in _additions(folder):
        owners = [other.name for other in TABLES if path.stem == other.name or path.stem.startswith(f"{other.name}_")]
        if max(owners, key=len, default="") == table.name:
            yield path


def _merged(table: Table, facts: Path, additions: Path, collected: str) -> list[Row]:
    found: dict[tuple[str, ...], Row] = {}
    path = facts / f"{table.name}.csv"
    if path.is_file():
        for row in _read(path, table):
            taken = _take(table, row, collected)
            key = _key(table, taken)
            if key in found and table.same is None:
                raise TableError(f"{path.name} has two rows {' '.join(key)}")
            found[key] = table.same(found[key], taken) if key in found and table.same else taken
    for path in _additions_to(table, additions):
        seen: set[tuple[str, ...]] = set()
        for row in _read(path, table):
            key = _key(table, row)
            if key in seen and table.same is None:
                raise TableError(f"{path.name} has two rows {' '.join(key)}")
            seen.add(key)
            found[key] = _over(table, found[key], row) if key in found else _take(table, row, collected)
    return table.sorted(found.values())


def _read(path: Path, table: Table) -> list[Row]:
    with path.open(encoding="utf-8", newline="") as file:
        given = [{name: (cell or "").strip() for name, cell in row.items() if name} for row in csv.DictReader(file)]
    missing = {*table.key, "source"} - set(given[0] if given else ())
    if given and missing:
        raise TableError(f"{path.name} has no column {', '.join(sorted(missing))}")
    return given


def _key(table: Table, row: Row) -> tuple[str, ...]:
    return tuple(row.get(column, "") for column in table.key)


def _take(table: Table, row: Row, collected: str) -> Row:
    cells = {column: _cell(row.get(column, "")) for column in (*table.key, *table.columns)}
    source = row["source"]
    # A whole row from memory, or from a place that no reader can open: said cell by cell, once, here.
    whole = source == "unverified" or "place not recorded" in source
    named = _named(row)
    kept = [column for column in (*table.key, *table.columns) if whole or column in named]
    return {
        **cells,
        "unverified_cells": ";".join(kept),
        "notes": row.get("notes", ""),
        "source": source,
        "collected": row.get("collected") or collected,
    }


def _over(table: Table, old: Row, new: Row) -> Row:
    stated = [column for column in table.columns if new.get(column)]
    unverified = (set(filter(None, old["unverified_cells"].split(";"))) - set(stated)) | _named(new)
    replaced = set(stated) >= {column for column in table.columns if old[column]}
    if replaced:
        unverified -= set(table.key)  # a cited row for the same key vouches for the key too
    keeps_old = unverified or (table.by_column and not replaced)
    sources = [*new["source"].split(" ; "), *(old["source"].split(" ; ") if keeps_old else ())]
    return {
        **old,
        **{column: _cell(new[column]) for column in stated},
        "unverified_cells": ";".join(column for column in (*table.key, *table.columns) if column in unverified),
        "notes": new.get("notes") or old["notes"],
        "source": " ; ".join(dict.fromkeys(source for source in sources if source != "unverified")) or "unverified",
        "collected": new.get("collected") or old["collected"],
    }


def _cell(text: str) -> str:
    return "" if text.strip() == "-" else text.strip()


def _named(row: Row) -> set[str]:
    return {cell.strip() for cell in row.get("unverified_cells", "").split(";") if cell.strip()}


def _text(table: Table, rows: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, table.header, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _validate(table: Table, rows: list[Row], all_rows: dict[str, list[Row]]) -> None:
    seen: set[tuple[str, ...]] = set()
    known = {name: {row[there[1]] for row in all_rows[there[0]]} for name, there in table.refers.items()}
    for row in rows:
        key = _key(table, row)
        where = f"{table.name}.csv, row {' '.join(filter(None, key))}"
        if key in seen:
            raise TableError(f"{where}: is there twice")
        seen.add(key)
        if not row["source"].strip():
            raise TableError(f"{where}: no source")
        if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", row["collected"]):
            raise TableError(f"{where}: collected is {row['collected']!r}, not a day")
        if unknown := _named(row) - {*table.key, *table.columns}:
            raise TableError(f"{where}: unverified_cells names {', '.join(sorted(unknown))}")
        for column, values in known.items():
            if row[column] not in values:
                raise TableError(f"{where}: {column} {row[column]!r} is not in {table.refers[column][0]}.csv")
        try:
            table.parse(row)
        except (ValueError, KeyError, re.error) as error:
            raise TableError(f"{where}: {error}") from error


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def main(arguments: list[str]) -> int:
    """Write with a folder, check without; 1 with one line on stderr when something is wrong."""
    try:
        if arguments:
            for name, text in make(Path(arguments[0])).items():
                (HERE / name).write_text(text, encoding="utf-8")
        check()
    except (TableError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201 - a script's own output
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
