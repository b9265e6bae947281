"""Columns that no answer looks at are listed apart from those that decide, each with its reason."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Iterator
from functools import cache
from typing import Any

import known
import pytest

from cli.check.mapping import case_from
from compat import Case, CaseError, check, read_host
from compat.evidence.names import image_name as images
from compat.evidence.names.image_name import read_image
from compat.facts import csv_files, tables
from compat.facts import rows as row_types
from compat.values.versions import VersionError
from compat.verdict.newest_supported import newest_supported
from tools.tables import ABOUT, TABLES

CASES = [*known.reported(), *map(case_from, known.examples())]
MADE = {"<string>", dataclasses.__file__}  # to compare and to copy a value looks at all of it
MORE = (
    {"gpu": "GTX 1650", "driver": "418.56", "cuda": "10.0"},
    {"gpu": "Tesla T4", "cuda": "11.8", "ami_release": "AL2023_x86_64_NVIDIA 20250620", "os": "linux"},
    {"gpu": "H100", "driver": "535.104.05", "image": "vllm/vllm-openai:v0.9.0", "host": "docker"},
    {"gpu": "RTX 3090 24GB", "driver": "535.104.05", "cuda": "12.2"},
    {"gpu": "T4", "driver": "535.104.05", "image": "quay.io/jupyter/pytorch-notebook:cuda12-2025-04-01"},
    {"gpu": "A100-SXM4-40GB-MIG-1g.5gb", "driver": "535.104.05", "cuda": "12.2"},
)

# Columns for people who look facts up (`gpu-commons facts`), which decide nothing, and why.
SHOWN = {
    ("cuda_driver", "driver_precision"): "says how near `min_linux_x86_64_driver` is, which is empty where it is not",
    ("cudnn", "min_linux_driver"): "the floor of the CUDA that it is built for, which cuda_driver has",
    ("driver_branch", "branch_type"): "what follows from it, the end of life, has a column",
    ("driver_branch", "last_branch_for"): "gpu_arch and gpu_model have the last branch by GPU",
    ("driver_branch", "open_kernel_modules"): "gpu_arch has it by GPU",
    ("ec2_gpu_instances", "gpu_count"): "one GPU or eight: the answer is the same",
    ("ec2_gpu_instances", "eks_managed_ami_types"): "the driver of an image and the limits of the instance decide",
    ("eks_ami", "driver_branch"): "`nvidia_driver` has the branch",
    ("eks_ami", "nvidia_container_toolkit"): "a case says it; R-REQ and R-COMPATHOOK ask for what is there",
    ("eks_ami", "kernel_module"): "the image chooses at boot",
    ("gpu_operator", "date"): "a release is known by its number",
    ("gpu_operator", "kernel_module"): "a case says it",
    ("gpu_operator", "container_toolkit"): "a case says it",
    ("container_toolkit", "date"): "a release is known by its number",
    ("container_toolkit", "auto_mode"): "what follows from it has columns",
    ("framework", "python"): "no field of a case says which Python",
    ("nccl", "cuda_versions"): "a part of the key; no release of the table was built with other code for another CUDA",
    ("image_example", "cuda"): "read from the reference",
    ("image_example", "cudnn"): "read from the reference",
    ("image_example", "framework"): "read from the reference",
    ("image_example", "framework_version"): "read from the reference",
    ("image_example", "os"): "read from the reference",
    ("image_repository", "cuda_from"): "the pattern takes the CUDA from the tag, and a row of image_tag goes before it",
    ("image_tag", "min_driver"): (
        "in NGC's notes the branch of the image's CUDA, or an older one, and data-centre GPUs may do with less: "
        "cuda_driver knows better; what RAPIDS asks for is in `framework`"
    ),
}


class Noted(dict[str, str]):
    """A row that notes which of its columns are read."""

    table: str
    seen: set[tuple[str, str]]

    def __getitem__(self, column: str) -> str:
        self.seen.add((self.table, column))
        return super().__getitem__(column)

    def get(self, column: str, default: Any = None) -> Any:
        self.seen.add((self.table, column))
        return super().get(column, default)


@cache
def _rows_of(table: str) -> list[dict[str, str]]:
    return tables.rows(table)


def _ask_everything() -> None:
    for case in (*CASES, *(Case(**fields) for fields in MORE)):
        try:
            check(case)
        except CaseError:
            continue
    case = Case(gpu="GTX 1080 Ti", driver="418.88", framework="pytorch", framework_version="1.0")
    newest_supported(case, read_host(case))


TYPES = tuple(
    each
    for _, each in inspect.getmembers(row_types, inspect.isclass)
    if dataclasses.is_dataclass(each) and each.__module__ == row_types.__name__
)


@pytest.fixture(scope="module")
def seen() -> Iterator[tuple[set[tuple[str, str]], set[tuple[str, str]]]]:
    """Columns of rows, and fields of the types that rows become, that answers look at; all made anew."""
    columns: set[tuple[str, str]] = set()
    of_types: set[tuple[str, str]] = set()

    def noted(name: str, read: list[dict[str, str]]) -> list[dict[str, str]]:
        found = [Noted(row) for row in read]
        for row in found:
            row.table, row.seen = name, columns
        return [*found]

    all_of, some_of = csv_files.rows, csv_files.rows_of

    def rows(name: str) -> list[dict[str, str]]:
        return noted(name, all_of(name))

    def rows_of(name: str, key: str) -> list[dict[str, str]]:
        return noted(name, some_of(name, key))

    def watched(kind: type) -> Any:
        def get(self: object, name: str) -> Any:
            if sys._getframe(1).f_code.co_filename not in MADE:  # noqa: SLF001 - who asks is the question
                of_types.add((kind.__name__, name))
            return object.__getattribute__(self, name)

        return get

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(csv_files, "rows", rows)
        patch.setattr(tables, "rows", rows)
        patch.setattr(tables, "rows_of", rows_of)
        for kind in TYPES:
            patch.setattr(kind, "__getattribute__", watched(kind), raising=False)
        known.forget()
        _ask_everything()
        yield columns, of_types
    known.forget()


@pytest.mark.slow  # takes each value of each row away
def test_every_field_of_a_row_is_used_in_an_answer(seen: tuple[set[tuple[str, str]], set[tuple[str, str]]]) -> None:
    every = {(kind.__name__, each.name) for kind in TYPES for each in dataclasses.fields(kind)}
    unused = sorted(every - seen[1])
    assert not unused, f"remove {unused}"


@pytest.mark.slow
def test_every_column_is_read_or_has_its_reason(
    seen: tuple[set[tuple[str, str]], set[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = {(table.name, column) for table in TABLES for column in _rows_of(table.name)[0] if column not in ABOUT}
    # images.py takes rows of image_tag as a whole: whether a column counts shows when it is emptied.
    looked_at = {each for each in seen[0] if each[0] != "image_tag"} | _counting("image_tag", monkeypatch)
    silent, wrong = sorted(every - looked_at - set(SHOWN)), sorted(set(SHOWN) - (every - looked_at))
    assert not silent, f"no answer looks at {silent}"
    assert not wrong, f"{wrong} do count, or are gone"


def _counting(table: str, monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, str]]:
    """Columns without which some reference is read differently."""
    rows = _rows_of(table)
    readings = _readings(rows, monkeypatch)
    found = {"repository", "tag"}
    for column in set(rows[0]) - found - set(ABOUT):
        if readings != _readings([{**row, column: ""} for row in rows], monkeypatch):
            found.add(column)
    return {(table, column) for column in found}


def _readings(rows: list[dict[str, str]], monkeypatch: pytest.MonkeyPatch) -> list[str]:
    tags: dict[str, tuple[row_types.ImageTag, ...]] = {}
    for tag in sorted((row_types.parse(row_types.ImageTag, row) for row in rows), key=lambda tag: -len(tag.tag)):
        tags[tag.repository] = (*tags.get(tag.repository, ()), tag)
    monkeypatch.setattr(images.tables, "image_tags", lambda: tags)
    read_image.cache_clear()
    found = []
    for row in rows:
        try:
            found.append(repr(read_image(f"{row['repository']}:{row['tag'].replace('*', '-x')}".rstrip(":"))))
        except VersionError:
            continue
    read_image.cache_clear()
    return found
