"""Make the tables of this folder from the fact tables, and check that they still are what was made.

    python -m components.compat.data.make FACTS     write the tables and SHA256SUMS
    python -m components.compat.data.make           check what is committed; needs no facts, changes nothing

FACTS is a folder with `README.md` (its line `Collected YYYY-MM-DD` dates every row) and the full tables.
Only the columns that a rule or a component reads are taken. Cells from memory stay named in `unverified_cells`.
"""

from __future__ import annotations

import csv
import hashlib
import io
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from components.compat import tables
from components.compat.versions import CudaVersion

HERE = Path(__file__).parent
SUMS = "SHA256SUMS"
Row = dict[str, str]


class TableError(ValueError):
    """The facts, or the committed tables, are not what they should be; the text says where."""


@dataclass(frozen=True, slots=True)
class Table:
    """One table: the columns we take, its key, its order, and the reader that must accept every row."""

    name: str
    columns: tuple[str, ...]
    order: Callable[[Row], object]
    parse: Callable[[Row], object]

    @property
    def key(self) -> str:
        return self.columns[0]

    @property
    def header(self) -> tuple[str, ...]:
        return (*self.columns, "unverified_cells", "source", "collected")


TABLES = (
    Table(
        "cuda_driver",
        ("cuda_version", "min_linux_x86_64_driver", "driver_precision"),
        lambda row: CudaVersion.parse(row["cuda_version"]),
        tables.parse_toolkit,
    ),
    Table(
        "driver_branch",
        ("branch", "native_cuda", "eol"),
        lambda row: int(row["branch"]),
        tables.parse_driver_branch,
    ),
    Table(
        "gpu_model",
        ("model", "architecture", "compute_capability", "vram_gib_nominal", "mig_capable", "gfd_product_label"),
        lambda row: (*(int(part) for part in row["compute_capability"].split(".")), row["model"]),
        tables.parse_gpu_model,
    ),
)


def make(facts: Path) -> dict[str, str]:
    """File name → text of every table and of SHA256SUMS; raises TableError or OSError."""
    collected = _collected(facts / "README.md")
    inputs = {"README.md": facts / "README.md"} | {f"{t.name}.csv": facts / f"{t.name}.csv" for t in TABLES}
    made = {f"{table.name}.csv": _table_text(table, facts, collected) for table in TABLES}
    sums = [f"{_sum(path.read_bytes())}  facts/{name}" for name, path in sorted(inputs.items())]
    sums += [f"{_sum(text.encode())}  {name}" for name, text in sorted(made.items())]
    return made | {SUMS: "\n".join(sums) + "\n"}


def check(folder: Path = HERE) -> None:
    """Raise TableError if a committed table was edited by hand, or no longer reads."""
    sums = dict(line.split("  ")[::-1] for line in (folder / SUMS).read_text(encoding="utf-8").splitlines())
    for table in TABLES:
        name = f"{table.name}.csv"
        if _sum((folder / name).read_bytes()) != sums.get(name):
            raise TableError(f"{name} is not what make.py wrote: change the facts and run it, do not edit the table")
        _validate(table, tables.rows(table.name, folder))


def _collected(readme: Path) -> str:
    match = re.search(r"^Collected (\d{4}-\d{2}-\d{2})\b", readme.read_text(encoding="utf-8"), re.MULTILINE)
    if not match:
        raise TableError(f"{readme} has no line that begins with `Collected YYYY-MM-DD`")
    return match[1]


def _table_text(table: Table, facts: Path, collected: str) -> str:
    given = tables.rows(table.name, facts)
    missing = {*table.columns, "unverified_cells", "source"} - set(given[0] if given else ())
    if missing:
        raise TableError(f"{table.name}.csv has no column {', '.join(sorted(missing))}")
    taken = [_take(table, row, collected) for row in given]
    _validate(table, taken)
    text = io.StringIO()
    writer = csv.DictWriter(text, table.header, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(taken, key=table.order))  # type: ignore[arg-type]  # each table orders by one type
    return text.getvalue()


def _take(table: Table, row: Mapping[str, str], collected: str) -> Row:
    named = [cell.strip() for cell in row["unverified_cells"].split(";") if cell.strip()]
    if row["source"] == "unverified":  # the whole row is from memory: say so cell by cell, once, here
        named = list(table.columns)
    taken = {column: row[column].strip() for column in table.columns}
    kept = ";".join(column for column in table.columns if column in named)
    return {**taken, "unverified_cells": kept, "source": row["source"], "collected": collected}


def _validate(table: Table, rows: Iterable[Row]) -> None:
    seen: set[str] = set()
    for row in rows:
        key = row[table.key]
        if key in seen:
            raise TableError(f"{table.name}.csv has two rows {key}")
        seen.add(key)
        if not row["source"].strip():
            raise TableError(f"{table.name}.csv, row {key}: no source")
        if unknown := set(filter(None, row["unverified_cells"].split(";"))) - set(table.columns):
            raise TableError(f"{table.name}.csv, row {key}: unverified_cells names {', '.join(sorted(unknown))}")
        try:
            table.parse(row)
        except (ValueError, KeyError) as error:
            raise TableError(f"{table.name}.csv, row {key}: {error}") from error


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
        sys.stderr.write(f"{error}\n")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
