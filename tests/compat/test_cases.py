"""Cases from documentation and from people's reports, each with the verdict that its source supports.

`kind` says which: a document states it, somebody reports it, or it is reasoned from what a document states.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

import known
import pytest

from compat import Answer, Severity, Verdict, check
from compat.evidence.case import FIELDS

OPENS = re.compile(r"https?://|github:[\w.-]+/[\w.-]+|PyPI \S|the case$")
ABOUT = ("expected", "disputed", "rule", "kind", "why", "source", "note")


ROWS = known.rows()
SETTLED = [row for row in ROWS if not row["disputed"]]
DISPUTED = [row for row in ROWS if row["disputed"]]


@cache
def _answer(id_: str) -> Answer:
    row = next(row for row in ROWS if row["id"] == id_)
    return check(known.case_of(row))


def _text(answer: Answer) -> str:
    findings = (f"  {finding.rule} {finding.severity}: {finding.message}" for finding in answer.findings)
    return "\n".join((f"answer: {answer.verdict}", *findings))


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in SETTLED])
def test_the_engine_agrees_with_the_source_of_a_case(row: dict[str, str]) -> None:
    answer = _answer(row["id"])
    assert answer.verdict == row["expected"], f"{row['why']} ({row['source']})\n{_text(answer)}"


@pytest.mark.parametrize("row", [pytest.param(row, id=row["id"]) for row in DISPUTED])
def test_a_disputed_case_is_still_answered_otherwise(row: dict[str, str]) -> None:
    # Strict: once the engine agrees, the dispute is over and the reason in the column is out of date.
    answer = _answer(row["id"])
    assert answer.verdict != row["expected"], f"the engine agrees now: empty `disputed` ({row['disputed']})"


def test_no_refusal_over_all_cases_rests_on_memory_and_each_names_a_source_that_opens() -> None:
    refusals = {each for row in ROWS for each in _answer(row["id"]).findings if each.severity is Severity.REFUSE}
    assert len(refusals) > 100
    assert not [each for each in refusals if not each.fact.verified]
    assert not [each for each in refusals if not any(map(OPENS.match, each.fact.source.split(" ; ")))]


def test_every_case_says_where_it_comes_from_and_is_there_once() -> None:
    assert tuple(ROWS[0]) == (*FIELDS, *ABOUT)
    assert [id_ for id_, count in Counter(row["id"] for row in ROWS).items() if count > 1] == []
    questions = Counter(tuple(row[name] for name in FIELDS if name != "id") for row in ROWS)
    assert [question for question, count in questions.items() if count > 1] == []
    for row in ROWS:
        assert row["kind"] in {"documentation", "report", "reasoned"}, row["id"]
        assert row["expected"] in set(Verdict), row["id"]
        assert row["source"].startswith(("https://", "github:", "http://")), row["id"]
        assert row["why"].endswith("."), row["id"]
        assert len(row["disputed"]) == 0 or row["disputed"].endswith("."), row["id"]


def test_the_cases_cover_the_ground() -> None:
    assert len(ROWS) >= 400
    assert {row["expected"] for row in ROWS} == set(Verdict)
    frameworks = {row["framework"] for row in ROWS}
    wanted = {"tensorflow", "pytorch", "jax", "mxnet", "cupy", "rapids", "onnxruntime", "vllm"}
    assert wanted | {"flash-attn", "bitsandbytes"} <= frameworks
    assert {"bare", "docker", "kubernetes", "apptainer"} <= {row["host"] for row in ROWS}
    assert {"yes", "no"} <= {row["cuda_compat"] for row in ROWS}
    assert len(DISPUTED) <= len(ROWS) // 20  # a dispute is an exception, not a way to be right
