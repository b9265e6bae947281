"""Programs whose releases are known by span: the CUDA, the GPUs and the drivers that a release of one is built for."""

from __future__ import annotations

from packaging.version import Version

from compat.facts import tables
from compat.facts.rows import Program


def rows_of(program: str, version: Version | None, text: str) -> tuple[Program, ...]:
    """Rows that hold for a release; without its number those that hold for all. `text` describes the build."""
    plain = text.lower()
    rows = tuple(row for row in tables.programs().get(program, ()) if row.word in plain)
    if version is None:
        return tuple(row for row in rows if row.before is None and row.first == Version("0"))
    return tuple(row for row in rows if row.first <= version and (row.before is None or version < row.before))
