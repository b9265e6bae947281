"""Reads the CSV tables as text, row by row."""

import csv
from functools import cache
from pathlib import Path

DATA = Path(__file__).parent / "data"


def rows(name: str, folder: Path = DATA) -> list[dict[str, str]]:
    """All rows of one table as text; raises FileNotFoundError if it is missing."""
    with (folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def rows_of(name: str, key: str, folder: Path = DATA) -> list[dict[str, str]]:
    """The rows of one table that begin with this cell, without reading the others: no cell has a line break."""
    header, *lines = _lines(folder / f"{name}.csv")
    return list(csv.DictReader([header, *(line for line in lines if line.startswith(f"{key},"))]))


def keys_of(name: str, folder: Path = DATA) -> list[str]:
    """The first cell of each row of one table."""
    return [line.partition(",")[0] for line in _lines(folder / f"{name}.csv")[1:]]


@cache
def _lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines()
