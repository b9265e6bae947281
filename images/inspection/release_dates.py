"""`python -m images.inspection.release_dates [--dry-run]` writes release_date.csv from the package index.

For each final release of the packages below it takes the day on which its first file was uploaded (PEP 700). What the
table has is kept. It prints what is new; without --dry-run it writes the table.
"""

from __future__ import annotations

import argparse
import datetime as dt
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Final

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

from compat.facts import tables
from images.inspection.faults import InspectError
from images.inspection.index import File, Index, index_url
from images.inspection.opening import open_session

TABLE: Final = tables.DATA / "release_date.csv"
Row = dict[str, str]
# Framework of the tables, and the package that is for GPUs; of CuPy, which has one for each CUDA, the source.
PACKAGES: Final = (
    ("bitsandbytes", "bitsandbytes"),
    ("catboost", "catboost"),
    ("ctranslate2", "ctranslate2"),
    ("cupy", "cupy"),
    ("faiss", "faiss-gpu"),
    ("faster-whisper", "faster-whisper"),
    ("jax", "jaxlib"),
    ("lmdeploy", "lmdeploy"),
    ("mlx", "mlx-cuda-12"),
    ("onnxruntime", "onnxruntime-gpu"),
    ("openmm", "openmm"),
    ("paddle", "paddlepaddle-gpu"),
    ("pytorch", "torch"),
    ("sglang", "sglang"),
    ("tensorflow", "tensorflow"),
    ("tensorrt", "tensorrt"),
    ("tensorrt-llm", "tensorrt-llm"),
    ("triton", "triton"),
    ("vllm", "vllm"),
    ("xformers", "xformers"),
    ("xgboost", "xgboost"),
)


def dates(framework: str, package: str, files: Iterable[File], today: dt.date) -> list[Row]:
    """A row for each final release with a file of which the index tells the day; the oldest first."""
    first: dict[Version, str] = {}
    for file in files:
        with suppress(InvalidWheelFilename, InvalidSdistFilename):
            is_wheel = file.filename.endswith(".whl")
            version = (parse_wheel_filename if is_wheel else parse_sdist_filename)(file.filename)[1]
            if file.uploaded and not version.is_prerelease and not version.is_postrelease:
                first[version] = min(first.get(version, "9"), file.uploaded[:10])
    return [
        {
            "framework": framework,
            "version": str(version),
            "released": first[version],
            "unverified_cells": "",
            "notes": "",
            "source": f"PyPI {package} (upload-time of its files)",
            "collected": today.isoformat(),
        }
        for version in sorted(first)
    ]


def merged(rows: Sequence[Row], new: Sequence[Row]) -> tuple[list[Row], list[str]]:
    """The rows with those that are new, in order, and a line for each of these."""
    have = {(row["framework"], row["version"]) for row in rows}
    added = [row for row in new if (row["framework"], row["version"]) not in have]
    both = sorted([*rows, *added], key=lambda row: (row["framework"], Version(row["version"])))
    return both, [f"{row['framework']} {row['version']}: released {row['released']}" for row in added]


def main(arguments: Sequence[str] | None = None) -> int:
    """0: every package was read; 1: some could not be."""
    parser = argparse.ArgumentParser(prog="python -m images.inspection.release_dates", description=__doc__)
    parser.add_argument("--dry-run", action="store_true", help="print what is new, and change nothing")
    options = parser.parse_args(arguments)
    today = dt.datetime.now(tz=dt.UTC).date()
    rows: list[Row] = tables.rows("release_date")
    new: list[Row] = []
    failed: list[str] = []
    with open_session(os.environ, with_login=False) as session:
        index = Index(session, index_url(os.environ))
        for framework, package in PACKAGES:
            try:
                new += dates(framework, package, index.files(package), today)
            except InspectError as error:
                failed.append(f"{package}: not read: {error.problem.reason}")
    rows, lines = merged(rows, new)
    print("\n".join([*lines, *failed]) or "nothing changed")  # noqa: T201 - its output
    if not options.dry_run:
        tables.write_rows(TABLE, rows)
    return int(bool(failed))


if __name__ == "__main__":
    raise SystemExit(main())
