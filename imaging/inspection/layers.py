"""Reads a layer as a stream of files: unpacked on the fly, never stored, and bounded by `limits`.

`tarfile` reads the archive. It trusts an archive: it takes a header of any length into memory, and a chain of
headers of any depth. So it gets a forward-only file that returns no more than the limit of a header.
"""

from __future__ import annotations

import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from imaging.inspection import limits
from imaging.inspection.faults import InspectError
from imaging.inspection.manifest import Descriptor
from imaging.inspection.sources import short
from imaging.inspection.unpacking import AGAIN, UnpackedTotal, counted, malformed, unpacked

_PIECE: Final = 1 << 18


@dataclass(slots=True)
class Entry:
    """One member of a layer. `path` has no leading slash and no dots; `pieces` gives a regular file's content."""

    path: str
    kind: str  # file, directory, link, symlink, other
    size: int
    target: str
    pieces: Callable[[], Iterator[bytes]]


def entries(name: str, layer: Descriptor, pieces: Iterator[bytes], total: UnpackedTotal) -> Iterator[Entry]:
    """Members of a layer in order. This reads the whole blob, so its digest is checked at the end.

    Raises InspectError, from `pieces` too.
    """
    where = f"layer {short(layer.digest)}"
    whole = counted(name, where, layer.size, unpacked(name, where, pieces), total)
    stream = _Forward(whole, lambda: malformed(name, where, "has a header of more than a megabyte"))
    yield from _members(name, where, stream)
    if stream.rest_is_data():
        raise malformed(name, where, "has data between its members that is not a tar header")


def _members(name: str, where: str, stream: _Forward) -> Iterator[Entry]:
    try:
        archive = tarfile.TarFile(fileobj=stream, mode="r", errors="replace", encoding="utf-8")  # type: ignore[arg-type]
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        if stream.is_empty:
            return  # an empty layer is two blocks of zeros, or with some builders nothing
        raise malformed(name, where, f"is not a tar archive ({str(error)[:60]})") from None
    kept: Any = archive  # `tarfile` keeps every member and every global header; its types do not show it
    while True:
        stream.begin_header()
        try:
            info = archive.next()
        except (tarfile.TarError, ValueError, OverflowError, RecursionError, KeyError, EOFError) as error:
            raise malformed(name, where, f"is not a tar archive to its end ({str(error)[:60]})") from None
        stream.end_header()
        if info is None:
            return
        kept.members.clear()
        kept.pax_headers.clear()
        yield _entry(name, where, stream, info)


def _entry(name: str, where: str, stream: _Forward, info: tarfile.TarInfo) -> Entry:
    path = _inside(name, where, info.name)
    if info.size > limits.FILE_BYTES or info.size < 0:
        raise InspectError(
            name,
            f"{where} has a file of {info.size:,} bytes, {path[:80]}; at most {limits.FILE_BYTES:,} are read",
            AGAIN,
        )
    kind = "other"
    if info.isreg():
        kind = "file"
    elif info.isdir():
        kind = "directory"
    elif info.islnk():
        kind = "link"
    elif info.issym():
        kind = "symlink"

    def pieces() -> Iterator[bytes]:
        if kind != "file" or info.issparse():
            return  # holes have no content, and libraries have no holes
        stream.seek(info.offset_data)
        left = info.size
        while left:
            piece = stream.read(min(left, _PIECE))
            if not piece:
                raise malformed(name, where, f"ends in the middle of {path[:80]}")
            left -= len(piece)
            yield piece

    size = info.size if kind == "file" else 0
    target = _inside(name, where, info.linkname) if kind == "link" else info.linkname[: limits.PATH_BYTES]
    return Entry(path, kind, size, target, pieces)


def _inside(name: str, where: str, path: str) -> str:
    """The path without its leading slash. Nothing is written here, but a path out of the image is an attack."""
    steps = [step for step in path.split("/") if step not in {"", "."}]
    if ".." in steps:
        raise InspectError(
            name, f"{where} has a path that climbs out of the image: {path[:80]!r}", "do not use this image"
        )
    if len(path) > limits.PATH_BYTES or len(steps) > limits.DEPTH or "\0" in path:
        raise InspectError(name, f"{where} has a path of {len(path)} characters, {len(steps)} deep", AGAIN)
    return "/".join(steps)


class _Forward:
    """A forward-only file for `tarfile`, except for one byte that it steps back before each header."""

    def __init__(self, pieces: Iterator[bytes], too_long: Callable[[], InspectError]) -> None:
        self._pieces = pieces
        self._too_long = too_long
        self._piece = b""
        self._offset = 0  # in the piece
        self._at = 0  # in the whole
        self._last = b""  # the byte before
        self._back = False
        self._header_left: int | None = limits.HEADER_BYTES
        self._block = b""  # the last read for a header

    def tell(self) -> int:
        return self._at - (1 if self._back else 0)

    def seek(self, position: int, whence: int = 0) -> int:
        if whence != 0 or position < self.tell() - 1:
            raise ValueError("goes forward only")
        if position == self._at - 1:
            self._back = True
            return position
        self._back = False
        while self._at < position and self._fill():
            self._take(min(position - self._at, len(self._piece) - self._offset))
        return self._at

    def read(self, size: int) -> bytes:
        if self._header_left is not None:
            self._header_left -= size
            if self._header_left < 0 or size < 0:
                raise self._too_long()
        parts = []
        if self._back and size > 0:
            parts.append(self._last)
            self._back = False
            size -= 1
        while size > 0 and self._fill():
            part = self._take(min(size, len(self._piece) - self._offset))
            parts.append(part)
            size -= len(part)
        data = parts[0] if len(parts) == 1 else b"".join(parts)
        if self._header_left is not None:
            self._block = data
        return data

    def close(self) -> None:
        """Nothing of ours to close."""

    @property
    def is_empty(self) -> bool:
        return self._at == 0

    def begin_header(self) -> None:
        self._header_left = limits.HEADER_BYTES

    def end_header(self) -> None:
        self._header_left = None

    def rest_is_data(self) -> bool:
        """Read to the end. Is there anything but zeros after `tarfile`'s end of the archive?"""
        found = bool(self._block.strip(b"\0"))
        while self._fill():
            found = bool(self._take(len(self._piece) - self._offset).strip(b"\0")) or found
        return found

    def _fill(self) -> bool:
        while self._offset >= len(self._piece):
            piece = next(self._pieces, None)
            if piece is None:
                return False
            self._piece, self._offset = piece, 0
        return True

    def _take(self, size: int) -> bytes:
        taken = self._piece[self._offset : self._offset + size]
        self._offset += size
        self._at += size
        self._last = taken[-1:]
        return taken
