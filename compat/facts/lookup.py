"""Looks up facts in the tables, as text."""

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from compat.facts.csv_files import DATA, rows


class UnknownTable(LookupError):  # noqa: N818 - the name states the fault: no such table or column
    """No table, or no column, has this name; the text names the nearest."""


def table_names() -> tuple[str, ...]:
    """All tables, by name."""
    return tuple(sorted(path.stem for path in DATA.glob("*.csv")))


def facts(table: str, **where: str) -> tuple[Mapping[str, str], ...]:
    """Rows of a table as text by column: those that match every `column="value"`.

    A cell matches if it is the value, or a list (`7.0;7.5`, `cu118|cu121`) that contains it; case does not matter.
    An empty cell is an unknown fact. In every row, `source` is its origin, `collected` the day it was read
    (YYYY-MM-DD), and `unverified_cells` names the columns that have not been checked there.
    Raises UnknownTable for a missing table or column.
    """
    found = _rows(table)
    for column in where:
        if found and column not in found[0]:
            raise UnknownTable(f'"{column}" is not a column of {table}; {_nearest(column, tuple(found[0]))}')
    return tuple(row for row in found if all(_matches(row[column], value) for column, value in where.items()))


@cache
def _rows(table: str) -> tuple[Mapping[str, str], ...]:
    if table not in table_names():
        raise UnknownTable(f'"{table[:80]}" is not a table; {_nearest(table, table_names())}')
    return tuple(MappingProxyType(row) for row in rows(table))


def _matches(cell: str, value: str) -> bool:
    wanted, found = value.strip().lower(), cell.lower()
    return wanted == found or wanted in {part.strip() for part in found.replace("|", ";").split(";")}


def _nearest(name: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches  # noqa: PLC0415 - for a mistake only

    close = get_close_matches(name.lower().replace("-", "_"), known, n=1, cutoff=0.5)
    likely = f"did you mean {close[0]}? " if close else ""
    return f"{likely}known: {', '.join(known)}"
