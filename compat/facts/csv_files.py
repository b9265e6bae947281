"""The files of the tables as text, row by row."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

DATA = Path(__file__).parent / "data"


def rows(name: str, folder: Path = DATA) -> list[dict[str, str]]:
    """All rows of one table as text; raises FileNotFoundError where it is not there."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def write_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """A table as `rows` reads it, with the columns of its first row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
