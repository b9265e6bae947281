"""Runs a program, follows its output line by line, and can stop it with all its child processes."""

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
    """Run a command, pass on each line of its output (both streams) as it comes, and return the exit code.

    `cancelled` is called a few times a second; once it returns true, the command and its children are stopped and the
    result is None. If `on_line` or a signal raises, nothing is left running either. `env` is added to our
    environment. Raises FileNotFoundError if the program is not installed.
    """
    child = subprocess.Popen(
        list(argv),
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,  # Ctrl-C reaches it only once: through us, as a cancellation
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
    """End a child that has its own session, and everything in that session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(within_s)
            return
