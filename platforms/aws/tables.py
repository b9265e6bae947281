"""AWS-specific tables, read once on first use; `tools/aws_tables.py` checks the files."""

from functools import cache
from pathlib import Path

from compat.facts import csv_files
from compat.facts.rows import Row

DATA = Path(__file__).parent / "data"


@cache
def rows(name: str) -> tuple[Row, ...]:
    """All rows of a table in `data` as text."""
    return tuple(csv_files.rows(name, DATA))


@cache
def by_first_column(name: str) -> dict[str, Row]:
    """The rows of a table whose first column is its key, by that key."""
    return {next(iter(row.values())): row for row in rows(name)}
