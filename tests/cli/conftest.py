"""The command, called as a user calls it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from click.testing import CliRunner, Result

from cli.__main__ import commands

Run = Callable[..., Result]
Batch = Callable[[bytes], tuple[Result, list[dict[str, Any]]]]


@pytest.fixture
def run() -> Run:
    """`run("check", "--gpu", "T4")` with what it printed and its exit code; an exception fails the test."""

    def call(*arguments: str, stdin: bytes | None = None) -> Result:
        result = CliRunner().invoke(commands, arguments, input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return call


@pytest.fixture
def batch(run: Run) -> Batch:
    """`batch(lines)` with the result and the answers of `check --batch -`."""

    def call(lines: bytes) -> tuple[Result, list[dict[str, Any]]]:
        result = run("check", "--batch", "-", stdin=lines)
        return result, [json.loads(line) for line in result.stdout.splitlines()]

    return call
