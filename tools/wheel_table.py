"""`python -m tools.wheel_table [--dry-run] [--new | --targets] [NAME…]` reads wheels for framework.csv.

For each build that the package index serves, and that a compiler made which can compress device code by zstd, it reads
whether that was done. With --new it reads releases that the table lacks instead: those after the newest that it has,
or `xgboost==3.0.0`, which is named. With --targets it reads the code of releases that name only the torch they pin.
It prints what changed; without --dry-run it writes the table.
"""

from __future__ import annotations

import argparse
import csv
import datetime as dt
import os
import re
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from typing import Final

import httpx
from packaging.utils import InvalidWheelFilename, parse_wheel_filename

from compat.facts.csv_files import DATA
from compat.values.versions import CUDA_OF_PTX, CudaVersion, VersionError, parse_release
from imaging.inspection.faults import InspectError
from imaging.inspection.image_locations import open_session
from imaging.inspection.index import File, Index, index_url
from tools.table_file import write_rows
from tools.wheel_code import Wheel, find_wheel, observe, requirements
from tools.wheel_file import opened
from tools.wheel_rows import (
    FIRST_WITH_MODES,
    KERNELS,
    OBSERVED,
    PRODUCTS,
    Product,
    Row,
    code_rows,
    fixed,
    newest_isa,
    pinned_row,
    targets,
    with_rows,
)

TABLE: Final = DATA / "framework.csv"
_AT_ONCE: Final = 8  # an index serves each connection at a few MB/s
_SAID: Final = " ; device code read from "


def package_of(row: Row) -> str:
    """The index package of this build for Linux on x86_64; empty if there is none."""
    distribution = row["distribution"]
    if not distribution.startswith("pip ") or re.search(r"windows|aarch64|/", distribution):
        return ""
    if row["framework"] == "pytorch":
        return "torch" if row["is_pypi_default"] == "yes" else ""
    name = distribution.split()[1]
    if match := re.fullmatch(r"(jax|mlx)\[cuda(\d*)\]", name):  # the package that brings CUDA to it
        return f"jax-cuda{match[2]}-plugin" if match[1] == "jax" else f"mlx-cuda-{match[2]}".removesuffix("-")
    return name


def is_due(row: Row) -> bool:
    """Could the build's code be compressed, and does the index have the version?"""
    try:
        cuda = CudaVersion.parse(row["cuda"])
    except VersionError:
        return False
    return cuda >= FIRST_WITH_MODES and bool(package_of(row)) and bool(re.fullmatch(r"\d[\w.]*", row["version"]))


def refreshed(row: Row, wheel: Wheel, today: dt.date) -> Row:
    """The row with the wheel's facts; its source is the wheel."""
    own = _of_variant(wheel, row["variant"])
    found = {**row, "compressed": own.compressed}
    if found != row:
        source = row["source"].partition(_SAID)[0]
        found |= {"source": f"{source}{_SAID}{wheel.filename}, {today}", "collected": today.isoformat()}
    return found


def with_targets(row: Row, wheel: Wheel, today: dt.date) -> Row:
    """A row that pins another wheel, with the targets of its own code; unchanged if it has none."""
    if not wheel.libraries:
        return row
    known_by = str(CUDA_OF_PTX.get(newest_isa(wheel), ""))
    found = {"sm_list": targets(wheel, "cubins"), "ptx": targets(wheel, "ptx"), "sm_list_basis": OBSERVED}
    found["ptx_cuda"] = known_by if found["ptx"] != "none" and known_by != row["cuda"] else ""
    notes = re.sub(
        r", whose PyPI wheel is (\S+): the driver and the code targets are those of that torch", r" (\1)", row["notes"]
    )
    notes = re.sub(r"Its (\S*kernel) is (\S+), not read", r"Its code is that of \1 \2", notes)
    source = row["source"].partition(_SAID)[0]
    said = {"source": f"{source}{_SAID}{wheel.filename}, {today}", "collected": today.isoformat()}
    return {**row, **found, "compressed": row["compressed"] or wheel.compressed, "notes": notes, **said}


def lacks_targets(row: Row) -> bool:
    """Does it pin another wheel, and say nothing of its own code?"""
    return bool(row["pins"]) and not row["sm_list"] and bool(package_of(row)) and row["version"][:1].isdigit()


def _with_code(index: Index, source: File) -> File:
    """The wheel that has the device code of a package: that of its kernels, if it pins them; itself otherwise."""
    kernels = KERNELS.get(source.filename.partition("-")[0], ())
    if not kernels:
        return source
    with opened(source) as wheel:
        requires = requirements(wheel)
    for name in kernels:
        if version := fixed(requires, name):
            return find_wheel(index, name, version)
    raise InspectError(source.filename, f"it pins none of {', '.join(kernels)}", "read another release")


def _of_variant(wheel: Wheel, variant: str) -> Wheel:
    """Of a wheel with a library per CUDA (`libbitsandbytes_cuda128.so`), those of a variant."""
    span = re.fullmatch(r"cu(\d+)(?:-cu(\d+))?", variant)
    numbered = [(int(match[1]), each) for each in wheel.libraries if (match := re.search(r"_cuda(\d+)\.so", each.path))]
    if span is None or not numbered:
        return wheel
    low, high = int(span[1]), int(span[2] or span[1])
    return replace(wheel, libraries=tuple(each for number, each in numbered if low <= number <= high))


def refresh(
    rows: list[Row],
    read: Callable[[str, str], Wheel],
    numbers: Sequence[int],
    made: Callable[[Row, Wheel, dt.date], Row],
    save: Callable[[], None],
) -> list[str]:
    """Change the rows of these numbers in place; one line for each that changed or whose wheel could not be read.

    Several wheels are read at once, and the table is saved after each: what was read is not read again after an
    interruption, where a row that has been read is no longer due.
    """
    column = "compressed" if made is refreshed else "sm_list"
    lines: dict[int, str] = {}
    of_wheel: dict[tuple[str, str], list[int]] = {}
    for number in numbers:
        of_wheel.setdefault((package_of(rows[number]), rows[number]["version"]), []).append(number)
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        reading = {pool.submit(read, *wheel): wheel for wheel in of_wheel}
        for done in as_completed(reading):
            error = done.exception()
            if error and not isinstance(error, InspectError):
                raise error
            for number in of_wheel[reading[done]]:
                row = rows[number]
                name = f"{row['framework']} {row['version']} {row['variant']}"
                if isinstance(error, InspectError):
                    lines[number] = f"{name}: not read: {error.problem.reason}"
                    continue
                rows[number] = made(row, done.result(), dt.datetime.now(tz=dt.UTC).date())
                if rows[number] != row:
                    lines[number] = f"{name}: {row[column] or 'empty'} -> {rows[number][column]}"
            save()
    return [lines[number] for number in sorted(lines)]


def added(rows: list[Row], index: Index, wanted: Sequence[str], today: dt.date) -> list[str]:
    """Add rows for releases that the table lacks; one line for each that is new or could not be read."""
    new, failed = [], []
    for product in PRODUCTS:
        named = {version for name, _, version in (each.partition("==") for each in wanted) if name in _names(product)}
        if wanted and not named:
            continue
        try:
            versions = sorted(named - {""}, key=parse_release) or later(rows, product, index.files(product.package))
        except InspectError as error:
            versions = []
            failed.append(f"{product.package}: not read: {error.problem.reason}")
        for version in versions:
            sys.stderr.write(f"{product.package} {version}\n")
            try:
                new += _rows_of(product, version, index, today)
            except InspectError as error:
                failed.append(f"{product.package} {version}: not read: {error.problem.reason}")
            except httpx.HTTPError as error:
                failed.append(f"{product.package} {version}: not read: no answer: {type(error).__name__}")
    rows[:], lines = with_rows(rows, new)
    return [*lines, *failed]


def _names(product: Product) -> set[str]:
    return {product.framework, product.package}


def _rows_of(product: Product, version: str, index: Index, today: dt.date) -> list[Row]:
    source = find_wheel(index, product.package, version)
    with opened(source) as wheel:
        if product.pins:
            row = pinned_row(product, version, source.filename, requirements(wheel), today)
            return [row] if row else []
        return code_rows(product, version, observe(wheel, source, name=product.package), today)


def later(rows: Sequence[Row], product: Product, files: Sequence[File]) -> list[str]:
    """Releases in the index after the table's newest of the package; the last one if the table has none."""
    package = re.compile(rf"pip {re.escape(product.package)}(?: |$)")
    have = [
        parse_release(row["version"])
        for row in rows
        if package.match(row["distribution"]) and row["version"][:1].isdigit()
    ]
    served = set()
    for each in files:
        with suppress(InvalidWheelFilename):
            served.add(parse_wheel_filename(each.filename)[1])
    final = sorted(each for each in served if not each.is_prerelease)
    return [str(each) for each in final if each > max(have)] if have else [str(each) for each in final[-1:]]


def main(arguments: Sequence[str] | None = None) -> int:
    """0: every wheel was read; 1: some were not."""
    parser = argparse.ArgumentParser(prog="python -m tools.wheel_table", description=__doc__)
    parser.add_argument("frameworks", nargs="*", metavar="FRAMEWORK", help="only builds of these; all if none is named")
    parser.add_argument("--dry-run", action="store_true", help="print what would change, and change nothing")
    parser.add_argument("--new", action="store_true", help="read releases that the table lacks")
    parser.add_argument("--targets", action="store_true", help="read the code of releases that name only what they pin")
    options = parser.parse_args(arguments)
    today = dt.datetime.now(tz=dt.UTC).date()
    with TABLE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    with open_session(os.environ, with_login=False) as session:
        index = Index(session, index_url(os.environ))

        def read(package: str, version: str) -> Wheel:
            try:
                source = _with_code(index, find_wheel(index, package, version))
                sys.stderr.write(f"{source.filename}, {(source.size or 0) / 1e6:.0f} MB\n")
                with opened(source) as wheel:
                    return observe(wheel, source, name=package)
            except httpx.HTTPError as error:
                raise InspectError(package, f"no answer: {type(error).__name__}", "try again later") from None

        def save() -> None:
            if not options.dry_run:
                write_rows(TABLE, rows)

        if options.new:
            lines = added(rows, index, options.frameworks, today)
            save()
        else:
            due, made = (lacks_targets, with_targets) if options.targets else (is_due, refreshed)
            wanted = options.frameworks or {row["framework"] for row in rows}
            numbers = [number for number, row in enumerate(rows) if row["framework"] in wanted and due(row)]
            lines = refresh(rows, read, numbers, made, save)
    print("\n".join(lines) or "nothing changed")
    return int(any(": not read: " in line for line in lines))


if __name__ == "__main__":
    raise SystemExit(main())
