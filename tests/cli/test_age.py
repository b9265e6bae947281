"""Tables of drivers and machine images say how old they are."""

from __future__ import annotations

import datetime as dt
import json

import pytest

from compat.facts import csv_files
from errors.clock import VARIABLE
from tests.cli.conftest import Batch, Run

NEWEST = max(
    dt.date.fromisoformat(row["collected"]) for name in ("driver_branch", "cuda_driver") for row in csv_files.rows(name)
)
CASE = ("--gpu", "T4", "--driver", "535.54.03", "--cuda", "12.2")


@pytest.mark.parametrize(("days", "notes"), [(60, 0), (61, 1)])
def test_an_answer_names_the_age_of_the_driver_tables_after_60_days(
    run: Run, monkeypatch: pytest.MonkeyPatch, days: int, notes: int
) -> None:
    monkeypatch.setenv(VARIABLE, str(NEWEST + dt.timedelta(days=days)))
    answer = json.loads(run("check", *CASE, "--json").stdout)
    found = [each for each in answer["findings"] if each["rule"] == "TABLES"]
    assert [each["severity"] for each in found] == ["note"] * notes
    assert answer["verdict"] == "compatible"
    assert all(f"last read on {NEWEST}, {days} days ago" in each["message"] for each in found)


def test_a_batch_names_the_age_of_the_tables_in_each_answer(batch: Batch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(NEWEST + dt.timedelta(days=100)))
    _, answers = batch(b'{"gpu": "T4", "cuda": "12.2"}\n{"gpu": "V100", "cuda": "12.1"}\n')
    assert [answer["findings"][-1]["rule"] for answer in answers] == ["TABLES", "TABLES"]


def test_the_age_of_machine_images_counts_only_where_the_case_names_one(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = max(dt.date.fromisoformat(row["collected"]) for row in csv_files.rows("eks_ami"))
    monkeypatch.setenv(VARIABLE, str(read + dt.timedelta(days=61)))
    on_aws = json.loads(run("check", "--instance-type", "g5.xlarge", "--cuda", "12.2", "--json").stdout)
    elsewhere = json.loads(run("check", "--gpu", "A10G", "--cuda", "12.2", "--json").stdout)
    about = [
        [each["message"] for each in answer["findings"] if each["rule"] == "TABLES"] for answer in (on_aws, elsewhere)
    ]
    assert len(about[0]) == 1
    assert "machine images" in about[0][0] or read >= NEWEST
    assert about[1] == [] or read >= NEWEST


def test_a_matrix_names_the_age_of_the_tables_beside_its_output(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, str(NEWEST + dt.timedelta(days=100)))
    result = run("matrix", "--stack", "dsmlp-fall", "--json")
    assert "100 days ago" in result.stderr
    assert json.loads(result.stdout)


def test_a_day_that_cannot_be_read_is_a_usage_error(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "tomorrow")
    result = run("check", *CASE)
    assert result.exit_code == 2
    assert f'{VARIABLE}: "tomorrow" is not a day such as 2026-11-23' in result.stderr
