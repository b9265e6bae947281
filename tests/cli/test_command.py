"""The command as a program: what it loads, how it ends, what it does without a terminal or with a closed pipe."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import Result
from rows import each_row

from cli.__main__ import COMMANDS, commands

Run = Callable[..., Result]
PROJECT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "cli"]
ONE = ["check", "--gpu", "T4", "--driver", "535.54.03", "--cuda", "12.2"]


def test_the_list_of_commands_is_the_commands() -> None:
    context = click.Context(commands)
    found = {name: commands.get_command(context, name) for name in commands.list_commands(context)}
    assert list(found) == list(COMMANDS)
    assert all(command is not None and command.name == name for name, command in found.items())


@each_row("name", COMMANDS)
def test_every_command_has_help_with_an_example_and_takes_json(run: Run, name: str) -> None:
    output = run(name, "--help").stdout
    assert f"gpu-commons {name}" in output
    assert "Example" in output
    assert "--json" in output


def test_an_unknown_command_ends_with_2(run: Run) -> None:
    result = run("chekc")
    assert result.exit_code == 2
    assert "No such command 'chekc'. Did you mean 'check'?" in result.stderr
    assert "Did you mean" not in run("zzz").stderr


def test_the_list_of_commands_is_not_cut(run: Run) -> None:
    for group in ((), ("image",)):
        assert "..." not in run(*group, "--help").stdout.replace("[ARGS]...", "")


@pytest.mark.slow
def test_a_check_loads_none_of_the_heavy_packages() -> None:
    program = f"import sys, json\nfrom cli.__main__ import commands\ncommands.main({ONE!r}, standalone_mode=False)\n"
    program += "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, cwd=PROJECT)
    loaded = set(json.loads(done.stdout.splitlines()[-1]))
    assert not loaded & {"pulumi", "pulumi_policy", "grpc", "pydantic", "yaml", "rich", "orjson", "httpx", "images"}


@pytest.mark.slow
def test_a_closed_pipe_is_no_error(tmp_path: Path) -> None:
    cases = tmp_path / "cases.jsonl"
    cases.write_text('{"gpu": "T4", "driver": "535.54.03", "cuda": "12.2"}\n' * 5000)  # more than a pipe holds
    with subprocess.Popen(
        [*COMMAND, "check", "--batch", str(cases)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT,
    ) as it:  # fmt: skip
        assert it.stdout
        assert it.stderr
        assert it.stdout.readline()
        it.stdout.close()
        assert not it.stderr.read()
        assert it.wait() == 141


@pytest.mark.slow
def test_ctrl_c_ends_it_with_130_and_without_a_traceback() -> None:
    on_a_terminal = ["env", "--default-signal=INT"]  # whoever runs the tests in the background ignores ctrl-c
    with subprocess.Popen(
        [*on_a_terminal, *COMMAND, "check", "--batch", "-"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=PROJECT,
    ) as it:  # fmt: skip
        assert it.stdin
        assert it.stdout
        assert it.stderr
        it.stdin.write('{"gpu": "T4", "cuda": "12.2"}\n')
        it.stdin.flush()
        assert it.stdout.readline()  # it waits for the next case now
        it.send_signal(signal.SIGINT)
        errors = it.stderr.read()
        assert it.wait() == 130
    assert "Traceback" not in errors


def on_a_terminal(**variables: str) -> str:
    """What a check prints on a terminal."""
    parent, child = pty.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "60", **variables}
    try:
        subprocess.run([*COMMAND, *ONE], stdout=child, check=True, cwd=PROJECT, env=environment)
    finally:
        os.close(child)
    text = b""
    try:
        while part := os.read(parent, 65536):
            text += part
    except OSError:
        pass  # Linux reports the end of a terminal so
    finally:
        os.close(parent)
    return text.decode()


@pytest.mark.slow
def test_colours_are_for_a_terminal_and_no_color_counts(run: Run) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    assert "\x1b[" not in run(*ONE).stdout
    assert "\x1b[32m" in on_a_terminal(NO_COLOR="")
    assert "\x1b[" not in on_a_terminal(**{**environment, "NO_COLOR": "1"})
    assert "\x1b[" not in on_a_terminal(NO_COLOR="", TERM="dumb")


@pytest.mark.slow
def test_lines_are_folded_on_a_terminal_and_whole_in_a_pipe(run: Run) -> None:
    words = on_a_terminal(NO_COLOR="1").split("\r\n")
    assert not [line for line in words if len(line) > 60 and len(line.split()) > 1]
    assert max(map(len, run(*ONE).stdout.splitlines())) > 60


@pytest.mark.slow
def test_an_ascii_terminal_gets_the_words() -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run([*COMMAND, *ONE], capture_output=True, check=True, cwd=PROJECT, env=environment)
    assert b"compatible" in done.stdout
