"""The driver that a release of the GPU operator installs by default."""

from __future__ import annotations

from functools import cache

from packaging.version import Version

from compat.facts import tables
from compat.facts.rows import Row
from compat.values.versions import DriverVersion, parse_release


def operator_row(text: str) -> Row | None:
    """The row of an operator release such as v25.10.0; None where no table has it."""
    try:
        wanted = parse_release(text.strip().lower().removeprefix("gpu-operator").strip(" -:").removeprefix("v"))
    except ValueError:
        return None
    return _rows().get(wanted)


@cache
def _rows() -> dict[Version, Row]:
    """Operator release → its row."""
    rows = tables.by_key("gpu_operator", "operator_version")
    return {parse_release(release.removeprefix("v")): row for release, (row,) in rows.items()}


def driver_of(row: Row) -> DriverVersion:
    return DriverVersion.parse(row["default_driver"])
