"""Forwards ports of this machine to a container, wherever it runs now. Standard library only.

libzmq looks up a name in the thread that moves all its messages: a kernel that is gone, asked for by name, would stop
every other kernel of the gateway for as long as its engine looks for that name. An address changes with each start.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from functools import partial

LOOPBACK = "127.0.0.1"
PIECE = 1 << 16


class Relay:
    """Local ports for the ports of a container; `target` is its address, None while it does not run."""

    def __init__(self) -> None:
        self.target: str | None = None
        self._servers: list[asyncio.Server] = []

    async def open(self, ports: Iterable[int]) -> list[int]:
        """A local port for each of these ports; the same ones until it is closed."""
        if not self._servers:
            self._servers = [await asyncio.start_server(partial(self._meet, port), LOOPBACK, 0) for port in ports]
        return [int(server.sockets[0].getsockname()[1]) for server in self._servers]

    def close(self) -> None:
        """Nobody is let in any more; who is connected stays so while the container runs."""
        self.target = None
        for server in self._servers:
            server.close()
        self._servers = []

    async def _meet(self, port: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection. Where nothing listens it is closed, and whoever asked tries again."""
        try:
            if self.target is None:
                return
            with suppress(OSError):
                far_reader, far_writer = await asyncio.open_connection(self.target, port)
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
        finally:
            writer.close()


async def _pump(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
    """Until one side ends; the other is ended with it."""
    try:
        with suppress(OSError):
            while piece := await source.read(PIECE):
                sink.write(piece)
                await sink.drain()
    finally:
        sink.close()
