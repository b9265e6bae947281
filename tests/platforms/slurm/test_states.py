"""What became of a job, from Slurm's words."""

from __future__ import annotations

import pytest
from rows import each_row

from platforms.slurm.states import UNKNOWN, Part, base_state, exit_status, of_key, outcome, wait_status


@each_row(
    ("states", "whole"),
    [
        (["COMPLETED", "COMPLETED"], "COMPLETED"),
        (["COMPLETED", "FAILED", "CANCELLED"], "FAILED"),
        (["COMPLETED", "TIMEOUT", "FAILED"], "TIMEOUT"),
        (["FAILED", "PENDING"], "PENDING"),
        (["PENDING", "RUNNING", "COMPLETED"], "RUNNING"),
    ],
)
def test_an_array_goes_on_until_its_last_task_and_then_is_its_worst(states: list[str], whole: str) -> None:
    became = outcome(7, [Part(7, state, exit_code=index) for index, state in enumerate(states)])
    assert became.state == whole
    assert became.has_ended == (whole not in {"PENDING", "RUNNING"})
    assert (became.exit_code is None) == (whole in {"PENDING", "RUNNING"})


def test_a_job_that_slurm_has_forgotten_has_an_unknown_outcome() -> None:
    became = outcome(7, [Part(8, "RUNNING")])
    assert (became.state, became.has_ended, became.exit_code) == (UNKNOWN, True, None)


@each_row(("text", "status"), [("0:0", 0), ("3:0", 3), ("0:9", 137), ("", 0)])
def test_an_exit_code_is_what_a_shell_would_say(text: str, status: int) -> None:
    assert exit_status(text) == status


@pytest.mark.parametrize(("value", "status"), [(0, 0), (768, 3), (9, 137)])
def test_a_wait_status_is_what_a_shell_would_say(value: int, status: int) -> None:
    assert wait_status(value) == status


def test_what_slurm_adds_to_a_state_is_left_out() -> None:
    assert [base_state(each) for each in ("CANCELLED by 1000", "CANCELLED+", "COMPLETED", "")] == [
        "CANCELLED",
        "CANCELLED",
        "COMPLETED",
        UNKNOWN,
    ]


def test_a_job_whose_comment_the_accounting_did_not_keep_is_found_by_its_name() -> None:
    ours, theirs = Part(1, "COMPLETED", name="smoke-1f"), Part(2, "COMPLETED", comment="other", name="smoke-1f")
    assert of_key([ours, theirs], "gpu-commons/key", "smoke-1f") == [ours]
