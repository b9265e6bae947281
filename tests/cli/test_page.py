"""docs/check-an-image.md as a reader follows it: each command runs and prints what the page shows below it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "check-an-image.md").read_text()
COMMAND = ".venv/bin/gpu-commons"
# Commands, and what is shown after them, with a sentence or nothing between the two.
SHOWN = re.findall(r"```sh\n(.*?)```\n(?:[^`\n#|]*\n){0,4}(?:```text\n(.*?)```)?", PAGE, re.DOTALL)


def test_the_page_shows_commands_with_and_without_what_they_print() -> None:
    assert len(SHOWN) == PAGE.count("```sh\n") > 5
    assert len([below for _, below in SHOWN if below]) == PAGE.count("```text\n") > 2


@pytest.mark.slow
@pytest.mark.parametrize(("commands", "below"), SHOWN)
def test_a_command_of_the_page_prints_what_the_page_says(commands: str, below: str, tmp_path: Path) -> None:
    called = [line for line in commands.splitlines() if not line.startswith("make ")]
    done = subprocess.run(
        ["bash", "-c", "\n".join(called).replace(COMMAND, str(PROJECT / COMMAND))],
        cwd=tmp_path, env={**os.environ, "NO_COLOR": "1"}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode in {0, 1}, done.stderr
    parts = [re.escape(part.strip("\n ")) for part in below.split("…")]
    assert re.search(r"\s*.*?\s*".join(parts), done.stdout, re.DOTALL), done.stdout
