"""CI's own command, `.ci/run`: whose caches it takes. A stand-in for `make` says what it was given."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

RUN = Path(__file__).parents[1] / ".ci" / "run"
MAKE = """#!/bin/sh
echo "$@: $XDG_CACHE_HOME $(readlink "$XDG_CACHE_HOME/gpu-commons/tools") $(ls "$XDG_CACHE_HOME/gpu-commons")"
[ "$1" != test ] || { [ -z "$TEST_SLEEP" ] || { sleep "$TEST_SLEEP"; exit; }; exit "${TEST_EXIT:-0}"; }
"""


def environment(tmp_path: Path, **variables: str) -> dict[str, str]:
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "make").write_text(MAKE)
    (folder / "make").chmod(0o755)
    return {
        **{name: value for name, value in os.environ.items() if name != "GPU_COMMONS_CI_COLD"},  # CI's own
        "PATH": f"{folder}:{os.environ['PATH']}",
        "XDG_CACHE_HOME": str(tmp_path / "mine"),
        "TMPDIR": str(tmp_path),
        **variables,
    }


def ci(tmp_path: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([RUN], env=environment(tmp_path, **variables), capture_output=True, text=True, check=False)


def test_ci_has_empty_caches_and_the_users_built_tools(tmp_path: Path) -> None:
    ran = ci(tmp_path)
    test, clean, end = ran.stdout.splitlines()
    given, tools, held = test.removeprefix("test: ").split()
    assert given != str(tmp_path / "mine")
    assert (tools, held) == (str(tmp_path / "mine/gpu-commons/tools"), "tools")
    assert clean.startswith("-s clean: ")
    assert (end, ran.returncode) == ("CI: exit 0 after 0 min", 0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "mine"]  # its own caches are gone


def test_ci_can_be_run_without_built_tools(tmp_path: Path) -> None:
    assert str(tmp_path / "mine") not in ci(tmp_path, GPU_COMMONS_CI_COLD="1").stdout
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("code", ["1", "2"])
def test_ci_fails_as_the_tests_do_and_cleans_up_all_the_same(tmp_path: Path, code: str) -> None:
    ran = ci(tmp_path, TEST_EXIT=code)
    assert ran.returncode == int(code)
    assert "-s clean: " in ran.stdout


def _is_sleep_of(process: psutil.Process, path: str) -> bool:
    with contextlib.suppress(psutil.Error):
        return process.name() == "sleep" and process.environ().get("PATH") == path
    return False


@pytest.mark.slow
@pytest.mark.parametrize("sent", [signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_ci_at_once_as_a_failure_and_cleans_up(tmp_path: Path, sent: signal.Signals) -> None:
    variables = environment(tmp_path, TEST_SLEEP="600")
    command = ["env", "--default-signal", RUN]  # a shell traps no signal that whoever started the tests ignores
    with subprocess.Popen(command, env=variables, stdout=subprocess.PIPE, text=True, start_new_session=True) as running:
        assert running.stdout is not None
        assert running.stdout.readline().startswith("test: ")
        running.send_signal(sent)
        try:
            rest = running.communicate(timeout=60)[0]
        finally:
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
    assert running.returncode == 128 + sent
    assert not [each for each in psutil.process_iter() if _is_sleep_of(each, variables["PATH"])]  # what `make` started
    assert "-s clean: " in rest
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bin", "mine"]
