"""Starting, watching and ending servers: only what the lab started, and with a reason when one fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from lab import files, processes
from lab.cluster import wait_until
from lab.instance import Instance, LabError, open_instance, port_is_free
from lab.processes import Server

ROOT = Path(__file__).parents[2]
SLEEPER = (sys.executable, "-c", "import time; print('started', flush=True); time.sleep(60)")


@pytest.fixture
def instance(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    return open_instance("processes")


def sleeper(*, ready: bool = True) -> Server:
    return Server("sleeper", SLEEPER, ready=lambda: ready, ready_within_s=1)


def pid(instance: Instance) -> int:
    record = processes.read_record(instance, "sleeper")
    assert record is not None
    return record.pid


def test_a_started_server_runs_until_it_is_stopped(instance: Instance) -> None:
    processes.start(instance, sleeper())
    started = pid(instance)
    assert psutil.pid_exists(started)
    assert processes.stop(instance, "sleeper") is True
    assert not processes.is_running(instance, "sleeper")


def test_starting_a_healthy_server_again_does_nothing(instance: Instance) -> None:
    processes.start(instance, sleeper())
    first = pid(instance)
    processes.start(instance, sleeper())
    assert pid(instance) == first
    processes.stop(instance, "sleeper")


def test_a_shell_with_another_path_restarts_nothing(
    instance: Instance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = replace(sleeper(), programs=[tmp_path / "own"])
    processes.start(instance, server)
    first = pid(instance)
    assert psutil.Process(first).environ()["PATH"].startswith(f"{tmp_path / 'own'}:")
    monkeypatch.setenv("PATH", f"{tmp_path / 'other'}:{os.environ['PATH']}")
    processes.start(instance, server)
    assert pid(instance) == first
    processes.stop(instance, "sleeper")


# Asked to end, its first thread ends at once and the last one, with the socket, a little later.
ENDS_IN_PARTS = """
import ctypes, os, signal, socket, sys, threading, time

is_ending = threading.Event()

def last():
    is_ending.wait()
    time.sleep(0.5)
    os._exit(0)

def end(*_):
    is_ending.set()
    ctypes.CDLL(None).pthread_exit(None)

signal.signal(signal.SIGTERM, end)
sink = socket.create_server(("127.0.0.1", int(sys.argv[1])))
threading.Thread(target=last).start()
while True:
    signal.pause()
"""

STARTS_ELSEWHERE = """
import sys
from lab import processes
from lab.instance import open_instance, port_is_free

name, port, *argv = sys.argv[1:]
processes.start(open_instance(name), processes.Server("sleeper", argv, ready=lambda: not port_is_free(int(port))))
"""


@pytest.mark.slow
def test_a_server_has_ended_when_its_port_is_free(instance: Instance) -> None:
    port = instance.ports["registry"]
    argv = (sys.executable, "-c", ENDS_IN_PARTS, str(port))
    started = subprocess.run(
        [sys.executable, "-c", STARTS_ELSEWHERE, instance.name, str(port), *argv], cwd=ROOT, check=False
    )
    assert started.returncode == 0
    assert not port_is_free(port)
    assert processes.stop(instance, "sleeper") is True
    assert port_is_free(port)


def test_a_changed_command_line_restarts_the_server(instance: Instance) -> None:
    processes.start(instance, sleeper())
    first = pid(instance)
    processes.start(instance, Server("sleeper", (*SLEEPER, "other"), ready=lambda: True))
    assert pid(instance) != first
    processes.stop(instance, "sleeper")


def test_a_file_with_another_content_restarts_the_server(instance: Instance) -> None:
    settings = files.write(instance.config / "settings", "one")
    processes.start(instance, replace(sleeper(), files=[settings]))
    first = pid(instance)
    processes.start(instance, replace(sleeper(), files=[files.write(settings, "one")]))
    assert pid(instance) == first
    processes.start(instance, replace(sleeper(), files=[files.write(settings, "two")]))
    assert pid(instance) != first
    processes.stop(instance, "sleeper")


def test_a_server_that_ends_at_once_shows_the_end_of_its_log(instance: Instance) -> None:
    argv = (sys.executable, "-c", "raise SystemExit('port 5000 is taken by somebody')")
    with pytest.raises(LabError, match=r"(?s)broken ended; the last lines of .*broken\.log.*port 5000 is taken"):
        processes.start(instance, Server("broken", argv, ready=lambda: False))


@pytest.mark.slow
def test_a_server_that_never_becomes_ready_shows_the_end_of_its_log(instance: Instance) -> None:
    with pytest.raises(LabError, match=r"(?s)sleeper was not ready within 1 s.*started"):
        processes.start(instance, sleeper(ready=False))
    processes.stop(instance, "sleeper")


def test_a_record_whose_pid_was_reused_is_not_signalled(instance: Instance) -> None:
    processes.start(instance, sleeper())
    record = processes.read_record(instance, "sleeper")
    assert record is not None
    text = (instance.run / "sleeper.json").read_text().replace(str(record.started), "1.0")
    (instance.run / "sleeper.json").write_text(text)
    assert processes.stop(instance, "sleeper") is False
    assert psutil.pid_exists(record.pid)
    (instance.run / "sleeper.json").write_text(text.replace("1.0", str(record.started)))
    assert processes.stop(instance, "sleeper") is True


def test_a_half_written_record_counts_as_none(instance: Instance) -> None:
    (instance.run / "sleeper.json").write_text('{"name": "sl')
    assert processes.read_record(instance, "sleeper") is None


def test_a_failing_command_quotes_its_output() -> None:
    with pytest.raises(LabError, match=r"(?s)failed \(exit 3\).*no such registry"):
        processes.run([sys.executable, "-c", "import sys; print('no such registry', file=sys.stderr); sys.exit(3)"])


def test_a_missing_program_is_named() -> None:
    with pytest.raises(LabError, match="no-such-program is not installed"):
        processes.run(["no-such-program"])


@pytest.mark.slow
def test_a_command_that_hangs_is_ended() -> None:
    with pytest.raises(LabError, match="did not end within 1 s"):
        processes.run(["sleep", "30"], timeout_s=1)


# A command that gives something back when it is interrupted, as the engine does with its lock.
HOLDER = """
import pathlib, sys, time
lock = pathlib.Path(sys.argv[1])
lock.touch()
try:
    time.sleep(60)
except KeyboardInterrupt:
    lock.unlink()
"""
CALL = "processes.call(command, cwd=here, env={})"
FOLLOW = (
    "processes.follow(command, cwd=here, env={}, outputs=(here / 'out', here / 'err'), lines_of=here / 'x', "
    "take=lambda lines: None)"
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("caller", "number", "to_all", "code"),
    [
        (CALL, signal.SIGTERM, False, 143),
        (CALL, signal.SIGHUP, False, 129),
        (FOLLOW, signal.SIGTERM, False, 143),
        (FOLLOW, signal.SIGTERM, True, 143),
        (FOLLOW, signal.SIGHUP, True, 129),  # the terminal was closed
        (FOLLOW, signal.SIGINT, True, 0),  # Ctrl-C: the command's own end counts
    ],
)
def test_a_lab_that_is_told_to_end_lets_its_command_give_back_what_it_holds(
    tmp_path: Path, caller: str, number: signal.Signals, to_all: bool, code: int
) -> None:
    lock = tmp_path / "lock"
    program = (
        "import signal, sys; from pathlib import Path; from lab import processes; here = Path(sys.argv[1]).parent; "
        # A shell's background job is started with SIGINT ignored, and these tests may run in one.
        "signal.signal(signal.SIGINT, signal.default_int_handler); "
        f"command = [sys.executable, '-c', {HOLDER!r}, sys.argv[1]]; {caller}"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(lock)], cwd=ROOT, process_group=0) as lab:
        wait_until(lambda: set() if lock.exists() else {"lock"}, within_s=30, what="not taken")
        os.killpg(lab.pid, number) if to_all else lab.send_signal(number)
        assert lab.wait(20) == code
    assert not lock.exists()
