"""Structured questions are answered as before prose readers were deleted: one in fourteen, in the fast tests."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for record.py: folders of tests are no packages here
import record

SAMPLED = list(record.read())[::14]


def test_structured_questions_are_answered_as_before() -> None:
    asked = [(before, record.answer_to(before["question"])) for before in SAMPLED]
    different = [
        f"{before['question']}\n  before {record.shown(before)}\n  after  {record.shown(after)}"
        for before, after in asked
        if record.difference(before, after)
    ]
    assert not different, f"{len(different)} of {len(asked)}:\n" + "\n".join(different)


def test_the_sample_has_each_verdict_and_each_kind_of_question() -> None:
    verdicts = {before["verdict"] for before in SAMPLED}
    assert verdicts >= {"compatible", "compatible_with_warning", "incompatible", "unknown"}
    assert len({before["id"].rpartition("-")[0] for before in SAMPLED}) >= 20
    assert len(SAMPLED) >= 1000
