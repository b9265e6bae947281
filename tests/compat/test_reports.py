"""Public reports, each with what people saw: what is answered as they saw it stays so.

`known_answer` is what the engine answers where it is not what was seen. An `unknown` among those has the fact that is
`missing`, in words that the finding has.
"""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path

import pytest

from cli.check.mapping import case_from
from compat import Answer, Severity, Verdict, check
from compat.evidence.case import FIELDS

FILE = Path(__file__).parent / "reports.csv"
ROWS = list(csv.DictReader(FILE.read_text(encoding="utf-8").splitlines()))
MOST = 250
FIGURES = ("right", "wrongly compatible", "wrongly incompatible", "unknown")


def _answer(row: dict[str, str]) -> Answer:
    return check(case_from({name: row[name] for name in FIELDS if row.get(name)}), with_remedy=False)


def _outcome(verdict: Verdict) -> str:
    """A warning is no refusal."""
    return "compatible" if verdict.runs else str(verdict)


def _figure(given: str, expected: str) -> str:
    if given == expected:
        return "right"
    return given if given == Verdict.UNKNOWN else f"wrongly {given}"


def test_a_report_is_answered_as_was_seen_or_as_its_row_admits(capsys: pytest.CaptureFixture[str]) -> None:
    figures, changed = Counter[str](), []
    for row in ROWS:
        answer = _answer(row)
        given = _outcome(answer.verdict)
        figures[_figure(given, row["expected"])] += 1
        findings = [f"  {each.rule} {each.severity}: {each.message}" for each in answer.findings]
        lacks = given == Verdict.UNKNOWN and not any(
            row["missing"] and row["missing"] in each.message
            for each in answer.findings
            if each.severity is Severity.UNKNOWN
        )
        if given != (row["known_answer"] or row["expected"]) or lacks:
            reported = f"{row['id']}: seen {row['expected']} ({row['why']}), answered {given}"
            changed.append("\n".join((reported, *findings)))
    with capsys.disabled():
        shown = ", ".join(f"{each} {figures[each]} ({figures[each] / len(ROWS):.1%})" for each in FIGURES)
        print(f"\n{len(ROWS)} public reports: {shown}")  # noqa: T201 - figures to read
    assert not changed, f"{len(changed)} rows are answered otherwise:\n" + "\n".join(changed)


def test_a_report_is_there_once_with_its_source_and_what_was_seen() -> None:
    assert len(ROWS) <= MOST
    assert [each for each, count in Counter(row["id"] for row in ROWS).items() if count > 1] == []
    for row in ROWS:
        assert row["expected"] in {"compatible", "incompatible"}, row["id"]
        assert row["known_answer"] in {"", "compatible", "incompatible", "unknown"}, row["id"]
        assert row["known_answer"] != row["expected"], row["id"]
        assert bool(row["missing"]) == (row["known_answer"] == "unknown"), row["id"]
        assert row["source"].startswith("https://"), row["id"]
        assert row["driver"], row["id"]
        assert row["cuda"] or row["framework_version"] or ":" in row["image"] or row["build"], row["id"]
        assert row["why"], row["id"]
        assert row["collected"].startswith("2026-"), row["id"]
