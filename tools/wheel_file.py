"""Reads a file on a server in pieces: only a wheel's directory and a few members, not all of its bytes."""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Final

import httpx

from imaging.inspection.faults import InspectError
from imaging.inspection.index import File

_PIECE: Final = 1 << 20
_SMALL, _LARGE = 64 << 10, 8 << 20  # bytes of one request: after a jump, and while reading on


class RangeFile(io.RawIOBase):
    """A file for `zipfile`, by range requests. Raises InspectError, and httpx.HTTPError without an answer.

    The first request of a run of bytes is small, each further one twice as large.
    """

    def __init__(self, client: httpx.Client, file: File, size: int) -> None:
        super().__init__()
        self._client, self._file, self._size = client, file, size
        self._at = 0
        self._start, self._have, self._step = 0, b"", _SMALL

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._size if size is None or size < 0 else min(self._size, self._at + size)
        found = bytearray()
        while self._at < end:
            if not self._start <= self._at < self._start + len(self._have):
                self._fetch(end)
            piece = self._have[self._at - self._start : end - self._start]
            found += piece
            self._at += len(piece)
        return bytes(found)

    def _fetch(self, end: int) -> None:
        goes_on = bool(self._have) and self._at == self._start + len(self._have)
        self._step = min(_LARGE, self._step * 2) if goes_on else _SMALL
        last = min(self._size, max(self._at + self._step, min(end, self._at + _LARGE))) - 1
        answer = self._client.get(self._file.url, headers={"Range": f"bytes={self._at}-{last}"})
        if answer.status_code != httpx.codes.PARTIAL_CONTENT or not answer.content:
            raise _refused(self._file, answer)
        self._start, self._have = self._at, answer.content


@contextmanager
def opened(file: File) -> Iterator[IO[bytes]]:
    """The file of an index; from a server without ranges the whole file, deleted afterwards."""
    with httpx.Client(timeout=60, follow_redirects=True) as client:
        with client.stream("GET", file.url, headers={"Range": "bytes=0-0"}) as answer:
            total = answer.headers.get("content-range", "").rpartition("/")[2]
            if answer.status_code == httpx.codes.OK:
                with tempfile.TemporaryFile() as target:
                    for piece in answer.iter_bytes(_PIECE):
                        target.write(piece)
                    target.seek(0)
                    yield target
                return
            if answer.status_code != httpx.codes.PARTIAL_CONTENT or not total.isdecimal():
                raise _refused(file, answer)
        yield RangeFile(client, file, int(total))  # type: ignore[misc] # it has what `zipfile` uses of IO[bytes]


def _refused(file: File, answer: httpx.Response) -> InspectError:
    return InspectError(file.filename, f"the index answers {answer.status_code}", "try again later")
