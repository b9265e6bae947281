"""The processes of a language host: programs, packs, plug-ins, installers. None outlives the host."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path

GRACE_S = 3.0  # below the five seconds after which the engine kills the host itself
CHUNK_BYTES = 64 * 1024


class Stream(Enum):
    STDOUT = auto()
    STDERR = auto()


class Output(Enum):
    INHERIT = auto()  # the engine reads our own standard output and error
    CAPTURE = auto()


class Children:
    """Starts processes, each in its own process group, and ends those groups.

    At the end, the engine interrupts our whole group. In their own groups the children do not receive that, so no
    Python program prints a KeyboardInterrupt traceback; the host ends them with SIGTERM instead.
    """

    def __init__(self) -> None:
        self._running: set[Process] = set()

    async def start(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], output: Output) -> Process:
        pipe = PIPE if output is Output.CAPTURE else None
        process = await asyncio.create_subprocess_exec(
            *argv, cwd=cwd, env=env, stdin=DEVNULL, stdout=pipe, stderr=pipe, process_group=0
        )
        self._running.add(process)
        return process

    async def end(self, process: Process) -> None:
        """SIGTERM, then SIGKILL after GRACE_S, to the process and its children. Does nothing if it has ended."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            if process.returncode is not None:  # its PID may belong to another process by now
                break
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, number)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), GRACE_S)
        self._running.discard(process)

    async def end_all(self) -> None:
        await asyncio.gather(*(self.end(process) for process in list(self._running)))


async def read_output(process: Process) -> AsyncIterator[tuple[Stream, bytes]]:
    """The output of a captured process, piece by piece, until both streams are closed."""
    pieces: asyncio.Queue[tuple[Stream, bytes]] = asyncio.Queue()

    async def forward(reader: asyncio.StreamReader, stream: Stream) -> None:
        while piece := await reader.read(CHUNK_BYTES):
            await pieces.put((stream, piece))
        await pieces.put((stream, b""))

    streams = {Stream.STDOUT: process.stdout, Stream.STDERR: process.stderr}
    forwarders = [asyncio.create_task(forward(reader, stream)) for stream, reader in streams.items() if reader]
    try:
        still_open = len(forwarders)
        while still_open:
            stream, piece = await pieces.get()
            if piece:
                yield stream, piece
            else:
                still_open -= 1
    finally:
        for forwarder in forwarders:
            forwarder.cancel()
