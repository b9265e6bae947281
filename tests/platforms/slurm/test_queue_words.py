"""What people read whose server is a job in the queue of Slurm."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from rows import each_row

from platforms.slurm.hub_files.queue_words import NEVER, counts_in, finds_no_room, refused, situation
from platforms.slurm.states import HOPELESS

NOW = datetime(2026, 11, 29, 6, 0, tzinfo=UTC)
SOON = "Your server starts by itself as soon as this changes."


@each_row(
    ("said", "words"),
    [
        ("", "Asking Slurm for “{x}”."),
        ("PENDING Resources", f"All machines for “{{x}}” are in use. {SOON}"),
        ("PENDING Priority", f"Others are before you in the queue for “{{x}}”. {SOON}"),
        ("PENDING None", f"The job of your server waits in the queue of Slurm. {SOON}"),
        ("PENDING (Whatever{0})", f"The job of your server waits in the queue of Slurm (Whatever{{0}}). {SOON}"),
        (
            "PENDING QOSMaxGRESPerUser",
            "Your account already uses as much of the cluster as it may (QOSMaxGRESPerUser).",
        ),
        ("PENDING ReqNodeNotAvail, UnavailableNodes:g1", "The machines for “{x}” are not ready: they are down,"),
        ("RUNNING 10.1.2.3", "Your server runs and is getting ready (5 seconds so far)."),
    ],
)
def test_somebody_who_waits_reads_what_for(said: str, words: str) -> None:
    now = situation(said, "{x}", NOW - timedelta(seconds=5))
    assert not now.is_final
    assert now.waiting_at(NOW).startswith(words)


@each_row(
    ("said", "words"),
    [
        ("PENDING PartitionTimeLimit", "Slurm will never start “X”: it asks for more time than the partition allows"),
        ("GONE TIMEOUT", "Slurm ended your server: its time was over."),
        ("GONE NODE_FAIL", "The machine of your server failed."),
        ("GONE OUT_OF_MEMORY", "Your server ran out of memory as it started."),
        ("GONE CANCELLED", "The job of your server was cancelled, by you or by somebody who runs the cluster."),
        ("GONE FAILED FATAL: while loading: no such file", "Your server ended as it started: no such file."),
        ("GONE", "The job of your server ended as it started, and left no word."),
    ],
)
def test_a_start_that_cannot_succeed_ends_with_its_reason(said: str, words: str) -> None:
    now = situation(said, "X", NOW)
    assert now.is_final
    assert now.given_up_at(NOW, 60).startswith(words)


def test_every_reason_with_which_a_job_never_starts_has_its_words() -> None:
    assert NEVER.keys() == HOPELESS


def test_who_waits_too_long_reads_what_for() -> None:
    words = situation("PENDING Resources", "X", NOW).given_up_at(NOW, 600)
    assert words.startswith("All machines for “X” are in use. This did not change within 10 minutes, so your server")


def test_only_a_job_that_waits_for_others_finds_no_room() -> None:
    said = ("PENDING Resources", "PENDING (Priority)", "PENDING BeginTime", "RUNNING n1", "")
    assert [finds_no_room(each) for each in said] == [True, True, False, False, False]


def test_a_refusal_is_the_last_clause_of_what_was_said() -> None:
    assert refused("\nsbatch: error: invalid account", "X").startswith(
        "Slurm did not start “X”: invalid account. Choose"
    )
    assert "no reason is known" in refused("", "X")


@pytest.mark.parametrize("answer", ["no JSON", "[]", '{"one": {"gpus": 1}}', '{"one": {"gpus": null}}', '{"one": 3}'])
def test_an_answer_that_the_agent_cannot_have_given_counts_nothing(answer: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        counts_in(answer)


def test_of_an_answer_only_numbers_that_pages_show_are_kept() -> None:
    numbers = {"gpus": 4, "busy_gpus": 4, "free_gpus": 0, "servers": 0, "waiting": 2, "lack": "gpus"}
    answer = '{"one": {"gpus": 4, "busy_gpus": 4, "free_gpus": 0, "servers": 0, "waiting": 2, "lack": "gpus", "x": 1}}'
    assert counts_in(answer) == {"one": {**numbers, "queued": "job"}}
