"""Writes a table as a file for `compat.facts.csv_files`."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path


def write_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> None:
    """Write a table for `rows`, with the columns of its first row."""
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), encoding="utf-8")
