from __future__ import annotations

import time

import psutil
import pytest

from imaging.build.buildkit import stream
from lab.cluster import wait_until


@pytest.mark.slow
def test_lines_of_both_outputs_come_in_order_with_the_exit_code() -> None:
    lines: list[str] = []
    script = "echo one; echo two >&2; printf thr; sleep 0.3; echo ee; printf last; exit 3"
    assert stream(["sh", "-c", script], on_line=lines.append, cancelled=lambda: False) == 3
    assert lines == ["one", "two", "three", "last"]


@pytest.mark.slow
def test_a_cancelled_command_ends_with_all_that_it_started() -> None:
    lines: list[str] = []
    started = time.monotonic()
    code = stream(
        ["sh", "-c", "sleep 61 & echo $!; wait"],
        on_line=lines.append,
        cancelled=lambda: time.monotonic() > started + 1,
    )
    assert code is None
    assert time.monotonic() - started < 10
    # The signal was sent before `stream` returned; a busy machine may need a moment to carry it out.
    wait_until(lambda: running(int(lines[0])), within_s=10, what="processes that were to end")


def running(pid: int) -> set[str]:
    """The process, unless it has ended; one that PID 1 has not collected yet has."""
    try:
        return set() if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE else {str(pid)}
    except psutil.NoSuchProcess:
        return set()


def test_a_listener_that_fails_leaves_nothing_running() -> None:
    def fail(_: str) -> None:
        raise ValueError("enough")

    with pytest.raises(ValueError, match="enough"):
        stream(["sh", "-c", "echo $$; exec sleep 62"], on_line=fail, cancelled=lambda: False)
    assert [each for each in psutil.process_iter(["cmdline"]) if each.info["cmdline"] == ["sleep", "62"]] == []


def test_a_missing_program_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="no-such-program"):
        stream(["no-such-program"], on_line=print, cancelled=lambda: False)
