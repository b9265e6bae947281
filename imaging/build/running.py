"""Runs a program whose output is followed line by line, and which can be stopped with all that it started."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO


def stream(
    argv: Sequence[str],
    *,
    on_line: Callable[[str], None],
    cancelled: Callable[[], bool],
    env: Mapping[str, str] | None = None,
    stop_within_s: float = 10,
) -> int | None:
    """Run a command, hand over each line of its output (both streams) as it comes, and return the exit code.

    `cancelled` is called a few times a second; once it returns true, the command and what it started are ended and the
    answer is None. So it is when `on_line` or a signal raises: nothing is left running. `env` is added to our
    environment. Raises FileNotFoundError when the program is not installed.
    """
    child = subprocess.Popen(
        list(argv),
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # a Ctrl-C reaches it as a cancellation, through us, and only once
    )
    try:
        with child.stdout or contextlib.nullcontext() as output:
            for line in _lines(output, cancelled):
                on_line(line)
        return None if cancelled() else child.wait()
    finally:
        if child.poll() is None:
            _end_session(child, stop_within_s)


def _lines(output: IO[bytes] | None, cancelled: Callable[[], bool]) -> Iterator[str]:
    """Lines as they come, until the end of the output or until `cancelled` says yes."""
    if output is None:
        return
    rest = b""
    while not cancelled():
        if not select.select([output], [], [], 0.2)[0]:
            continue
        chunk = os.read(output.fileno(), 65536)
        *lines, rest = (rest + chunk).split(b"\n")
        yield from (line.decode(errors="replace").rstrip("\r") for line in lines)
        if not chunk:
            if rest:
                yield rest.decode(errors="replace")
            return


def _end_session(child: subprocess.Popen[bytes], within_s: float) -> None:
    """End a child that was started with a session of its own, and everything in that session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(within_s)
            return
