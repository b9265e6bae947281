"""Exams that were made blind (docs/blind-exams.md), kept whole: fixed rows stay fixed.

Their first scores are in docs/check-an-image.md. `disputed` says why a row still gets another answer.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from compat import Verdict, case_from, check
from compat.evidence.case import FIELDS, CaseError

FOLDER = Path(__file__).parent / "exams"
EXAMS = {
    path.stem: list(csv.DictReader(path.read_text(encoding="utf-8").splitlines())) for path in FOLDER.glob("*.csv")
}
FEWEST = 100
SHORT = {"6": 97}  # what its second pair of eyes left
ROWS = [pytest.param(row, id=f"{exam}-{row['id']}") for exam, rows in sorted(EXAMS.items()) for row in rows]


def _answer(row: dict[str, str]) -> str:
    """The answer as an exam counts it: a warning is no refusal, and a row that cannot be read has no answer."""
    try:
        verdict = check(case_from({name: row[name] for name in FIELDS if row.get(name)})).verdict
    except CaseError:
        return "unknown"
    return "compatible" if verdict.runs else str(verdict)


@pytest.mark.parametrize("row", ROWS)
def test_a_row_of_an_exam_is_answered_as_was_seen_unless_it_is_disputed(row: dict[str, str]) -> None:
    if row["disputed"]:
        assert _answer(row) != row["expected"], f"the engine agrees now: empty `disputed` ({row['disputed']})"
    else:
        assert _answer(row) == row["expected"], f"{row['why']} ({row['source']})"


def test_an_exam_is_kept_with_its_queries_and_sources() -> None:
    assert EXAMS
    for exam, rows in EXAMS.items():
        assert (FOLDER / f"{exam}-queries.md").stat().st_size > 1000
        assert len(rows) >= SHORT.get(exam, FEWEST)
        assert {row["expected"] for row in rows} == {str(Verdict.COMPATIBLE), str(Verdict.INCOMPATIBLE)}
        assert all(row["source"].startswith("http") and row["why"] and row["collected"] for row in rows)
        assert max(Counter(row["source"] for row in rows).values()) <= 3  # two of each half
        assert max(Counter(row["id"] for row in rows).values()) == 1
