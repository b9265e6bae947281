"""`python -m images.inspection.wheel_table [--dry-run] [FRAMEWORK…]` reads wheels anew for compat/data/framework.csv.

For each build that the package index serves, and that a compiler made which can compress device code by zstd, it reads
whether that was done. It prints what changed; without --dry-run it writes the table.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import io
import os
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

import httpx

from compat.tables import DATA
from compat.versions import CudaVersion, VersionError
from images.inspection.faults import InspectError
from images.inspection.index import Index, index_url
from images.inspection.opening import open_session
from images.inspection.wheels import Wheel, downloaded, find_wheel, observe

TABLE: Final = DATA / "framework.csv"
_FIRST_WITH_MODES: Final = CudaVersion(12, 8)  # nvcc before it compresses nothing by zstd
_SAID: Final = " ; device code read from "

Row = dict[str, str]


def package_of(row: Row) -> str:
    """The package of the index that has this build for Linux on x86_64; empty where it serves none."""
    distribution = row["distribution"]
    if not distribution.startswith("pip ") or re.search(r"windows|aarch64|/", distribution):
        return ""
    if row["framework"] == "pytorch":
        return "torch" if row["is_pypi_default"] == "yes" else ""
    name = distribution.split()[1]
    if asked := re.fullmatch(r"(jax|mlx)\[cuda(\d*)\]", name):  # the package that brings CUDA to it
        return f"jax-cuda{asked[2]}-plugin" if asked[1] == "jax" else f"mlx-cuda-{asked[2]}".removesuffix("-")
    return name


def is_due(row: Row) -> bool:
    """Could the build's code be compressed, and is the version one of the index?"""
    try:
        cuda = CudaVersion.parse(row["cuda"])
    except VersionError:
        return False
    return cuda >= _FIRST_WITH_MODES and bool(package_of(row)) and bool(re.fullmatch(r"\d[\w.]*", row["version"]))


def refreshed(row: Row, wheel: Wheel, today: dt.date) -> Row:
    """The row as the wheel has it; its source names the wheel."""
    own = _of_variant(wheel, row["variant"])
    found = {**row, "compressed": own.compressed}
    if found != row:
        source = row["source"].partition(_SAID)[0]
        found |= {"source": f"{source}{_SAID}{wheel.filename}, {today}", "collected": today.isoformat()}
    return found


def _of_variant(wheel: Wheel, variant: str) -> Wheel:
    """Of a wheel with a library for each CUDA (`libbitsandbytes_cuda128.so`), those that a variant is for."""
    span = re.fullmatch(r"cu(\d+)(?:-cu(\d+))?", variant)
    numbered = [(int(match[1]), each) for each in wheel.libraries if (match := re.search(r"_cuda(\d+)\.so", each.path))]
    if span is None or not numbered:
        return wheel
    low, high = int(span[1]), int(span[2] or span[1])
    return replace(wheel, libraries=tuple(each for number, each in numbered if low <= number <= high))


def refresh(rows: list[Row], read: Callable[[str, str], Wheel], wanted: Sequence[str], today: dt.date) -> list[str]:
    """Change rows in place; one line for each wheel that changed something or could not be read."""
    lines = []
    wheels: dict[tuple[str, str], Wheel | InspectError] = {}
    for number, row in enumerate(rows):
        if not is_due(row) or (wanted and row["framework"] not in wanted):
            continue
        key = package_of(row), row["version"]
        if key not in wheels:
            try:
                wheels[key] = read(*key)
            except InspectError as error:
                wheels[key] = error
        wheel = wheels[key]
        name = f"{row['framework']} {row['version']} {row['variant']}"
        if isinstance(wheel, InspectError):
            lines.append(f"{name}: not read: {wheel.problem.reason}")
            continue
        rows[number] = refreshed(row, wheel, today)
        if rows[number] != row:
            lines.append(f"{name}: {row['compressed'] or 'empty'} -> {rows[number]['compressed']}")
    return lines


def main(arguments: Sequence[str] | None = None) -> int:
    """0: every wheel was read; 1: some could not be."""
    parser = argparse.ArgumentParser(prog="python -m images.inspection.wheel_table", description=__doc__)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help="only builds of these; all if none is named")
    parser.add_argument("--dry-run", action="store_true", help="print what would change, and change nothing")
    options = parser.parse_args(arguments)
    today = dt.datetime.now(tz=dt.UTC).date()
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with open_session(os.environ, with_login=False) as session:
        index = Index(session, index_url(os.environ))

        def read(package: str, version: str) -> Wheel:
            try:
                source = find_wheel(index, package, version)
                sys.stderr.write(f"{source.filename}, {(source.size or 0) / 1e6:.0f} MB\n")
                with downloaded(source) as wheel:
                    return observe(wheel, source, name=package)
            except httpx.HTTPError as error:
                raise InspectError(package, f"no answer: {type(error).__name__}", "try again later") from None

        lines = refresh(rows, read, options.frameworks, today)
    print("\n".join(lines) or "nothing changed")  # noqa: T201 - its output
    if not options.dry_run:
        _write(rows, TABLE)
    return int(any(": not read: " in line for line in lines))


def _write(rows: list[Row], table: Path) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    table.write_text(text.getvalue())


if __name__ == "__main__":
    raise SystemExit(main())
