"""The command line that runs a program, without a process."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from pulumi.runtime.proto.language_pb2 import RunRequest

from lab.language_host.commands import Addresses, Command, run_command
from lab.language_host.environment import Environment, EnvironmentFault, Toolchain


def command(tmp_path: Path, tracing: str = "", **request: Any) -> Command:
    python = tmp_path / ".venv" / "bin" / "python"
    python.parent.mkdir(parents=True, exist_ok=True)
    python.symlink_to(sys.executable)
    script = tmp_path / "exec"
    script.touch()
    environment = Environment(tmp_path, tmp_path, Toolchain.PIP, tmp_path / ".venv", None, None)
    addresses = Addresses("127.0.0.1:1", tracing, script)
    return run_command(RunRequest(project="p", stack="s", **request), environment, addresses, {})


def flags(argv: list[str]) -> dict[str, str]:
    given = argv[3 : argv.index("__main__.py")]
    return dict(zip(given[::2], given[1::2], strict=True))


def test_an_update_has_the_flags_of_its_request_and_no_empty_ones(tmp_path: Path) -> None:
    made = command(tmp_path, monitor_address="127.0.0.1:2", organization="o", parallel=16, program="__main__.py")
    assert [*made.argv[:3]] == [str(tmp_path / ".venv" / "bin" / "python"), "-u", str(tmp_path / "exec")]
    assert flags([*made.argv]) == {
        "--monitor": "127.0.0.1:2",
        "--engine": "127.0.0.1:1",
        "--project": "p",
        "--root_directory": str(tmp_path),
        "--stack": "s",
        "--organization": "o",
        "--parallel": "16",
    }


def test_a_preview_is_a_dry_run_and_traces_go_where_the_engine_says(tmp_path: Path) -> None:
    made = flags([*command(tmp_path, tracing="tcp://127.0.0.1:3", dryRun=True, program="__main__.py").argv])
    assert made["--dry_run"] == "true"
    assert made["--tracing"] == "tcp://127.0.0.1:3"


def test_arguments_of_a_program_come_behind_two_dashes(tmp_path: Path) -> None:
    assert [*command(tmp_path, program="__main__.py", args=["--fast"]).argv[-3:]] == ["__main__.py", "--", "--fast"]
    assert command(tmp_path / "b", program="__main__.py").argv[-1] == "__main__.py"


def test_without_the_exec_script_the_message_says_what_to_run(tmp_path: Path) -> None:
    environment = Environment(tmp_path, tmp_path, Toolchain.PIP, None, None, None)
    with pytest.raises(EnvironmentFault, match=r"exec is missing: install the tools again \(`make up`\)"):
        run_command(RunRequest(), environment, Addresses("", "", tmp_path / "exec"), {})
