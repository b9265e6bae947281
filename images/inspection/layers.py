"""A layer as a stream of files: unpacked as it comes, never stored, and never believed beyond `limits`.

`tarfile` reads the archive. It trusts what an archive says of itself: it takes a header of any length into memory, and
a chain of headers to any depth. So it gets a file that goes forward only and hands out no more than a header may have.
"""

from __future__ import annotations

import itertools
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from images.inspection import limits
from images.inspection.faults import InspectError
from images.inspection.manifest import Descriptor
from images.inspection.sources import short

_GZIP, _ZSTD, _SKIPPABLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
_PIECE: Final = 1 << 18
# The library does not say that a frame has no end. So one more follows, which only comes out whole if all before did.
_LAST_FRAME: Final = b"\x28\xb5\x2f\xfd\x20\x40\x03\x02\x00Z"
_LAST_CONTENT: Final = b"Z" * 64
_AGAIN: Final = "build and push the image again"


@dataclass(slots=True)
class Volume:
    """Bytes unpacked so far, of all layers of an image."""

    name: str
    unpacked: int = 0

    def grow(self, count: int) -> None:
        """Raises InspectError where there are more than anybody's image has."""
        self.unpacked += count
        if self.unpacked > limits.UNPACKED_BYTES:
            what = f"unpacks to more than {limits.UNPACKED_BYTES:,} bytes"
            raise InspectError(self.name, what, "do not use this image")


@dataclass(slots=True)
class Entry:
    """One member of a layer. `path` has neither a leading slash nor dots; `pieces` gives a regular file's content."""

    path: str
    kind: str  # file, directory, link, symlink, other
    size: int
    target: str
    pieces: Callable[[], Iterator[bytes]]


def compression(head: bytes) -> str:
    """By the first bytes, as container engines decide, because media types are often wrong: gzip, zstd or none."""
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD) or (head[1:4] == _SKIPPABLE and 0x50 <= head[0] <= 0x5F):
        return "zstd"
    return "none"


def named_compression(media_type: str) -> str:
    """As the media type has it; `unknown` for one that is not a layer's."""
    if media_type.endswith(("+gzip", ".gzip")):
        return "gzip"
    if media_type.endswith("+zstd"):
        return "zstd"
    return "none" if media_type.endswith((".tar", ".diff")) else "unknown"


def entries(name: str, layer: Descriptor, pieces: Iterator[bytes], volume: Volume) -> Iterator[Entry]:
    """Members of a layer in order. The whole blob is read, so its digest is checked when this ends.

    Raises InspectError, from `pieces` too.
    """
    where = f"layer {short(layer.digest)}"
    unpacked = _counted(name, where, layer.size, _unpacked(name, where, pieces), volume)
    stream = _Forward(unpacked, lambda: _malformed(name, where, "has a header of more than a megabyte"))
    yield from _members(name, where, stream)
    if stream.rest_is_data():
        raise _malformed(name, where, "has something that is no tar header between its members")


def _members(name: str, where: str, stream: _Forward) -> Iterator[Entry]:
    try:
        archive = tarfile.TarFile(fileobj=stream, mode="r", errors="replace", encoding="utf-8")  # type: ignore[arg-type]
    except (tarfile.TarError, ValueError, OverflowError, RecursionError) as error:
        if stream.is_empty:
            return  # a layer without members is two blocks of zeros, or for some builders nothing
        raise _malformed(name, where, f"is no tar archive ({str(error)[:60]})") from None
    kept: Any = archive  # `tarfile` keeps every member and every global header; the types do not tell
    while True:
        stream.begin_header()
        try:
            info = archive.next()
        except (tarfile.TarError, ValueError, OverflowError, RecursionError, KeyError, EOFError) as error:
            raise _malformed(name, where, f"is no tar archive to its end ({str(error)[:60]})") from None
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
            _AGAIN,
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
            return  # holes have no content, and a file with holes is no library
        stream.seek(info.offset_data)
        left = info.size
        while left:
            piece = stream.read(min(left, _PIECE))
            if not piece:
                raise _malformed(name, where, f"ends in the middle of {path[:80]}")
            left -= len(piece)
            yield piece

    size = info.size if kind == "file" else 0
    target = _inside(name, where, info.linkname) if kind == "link" else info.linkname[: limits.PATH_BYTES]
    return Entry(path, kind, size, target, pieces)


def _inside(name: str, where: str, path: str) -> str:
    """The path without its slash in front. Nothing is written here, but an image that climbs out is an attack."""
    steps = [step for step in path.split("/") if step not in {"", "."}]
    if ".." in steps:
        raise InspectError(
            name, f"{where} has a path that climbs out of the image: {path[:80]!r}", "do not use this image"
        )
    if len(path) > limits.PATH_BYTES or len(steps) > limits.DEPTH or "\0" in path:
        raise InspectError(name, f"{where} has a path of {len(path)} characters, {len(steps)} deep", _AGAIN)
    return "/".join(steps)


def _malformed(name: str, where: str, what: str) -> InspectError:
    return InspectError(name, f"{where} {what}", _AGAIN)


def _counted(name: str, where: str, packed: int, pieces: Iterator[bytes], volume: Volume) -> Iterator[bytes]:
    count = 0
    for piece in pieces:
        count += len(piece)
        if count > limits.RATIO_FROM and count > limits.RATIO * max(packed, 1):
            raise InspectError(
                name,
                f"{where} unpacks to more than {limits.RATIO} times its {packed:,} bytes, as an archive bomb does",
                "do not use this image",
            )
        volume.grow(len(piece))
        yield piece


def _unpacked(name: str, where: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Unpacked pieces of bounded length, whatever the compression."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= 4:
            break
    kind = compression(head)
    whole = _prepended(head, pieces)
    if kind == "gzip":
        yield from _gunzipped(name, where, whole)
    elif kind == "zstd":
        yield from _unzstd(name, where, whole)
    else:
        yield from whole


def _prepended(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    if head:
        yield head
    yield from pieces


def _gunzipped(name: str, where: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    state = zlib.decompressobj(31)
    for piece in pieces:
        data, holds_more = piece, False
        while data or holds_more:
            if state.eof:  # some builders write many gzip members, some pad the last one with zeros
                data = data.lstrip(b"\0")
                if not data:
                    break
                state = zlib.decompressobj(31)
            try:
                out = state.decompress(data, _PIECE)
            except zlib.error as error:
                raise _malformed(name, where, f"cannot be unpacked ({error})") from None
            if out:
                yield out
            data = state.unused_data if state.eof else state.unconsumed_tail
            holds_more = len(out) == _PIECE and not state.eof
    if not state.eof:
        raise _malformed(name, where, "ends in the middle of its gzip stream")


def _unzstd(name: str, where: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    import zstandard  # noqa: PLC0415 - most layers are gzip

    decompressor = zstandard.ZstdDecompressor(max_window_size=limits.ZSTD_WINDOW_BYTES)
    kept = b""
    try:
        with decompressor.stream_reader(
            _Readable(itertools.chain(pieces, (_LAST_FRAME,))),  # type: ignore[arg-type]
            read_size=_PIECE,
            read_across_frames=True,
        ) as reader:
            while out := reader.read(_PIECE):
                kept += out
                if len(kept) > len(_LAST_CONTENT):
                    yield kept[: -len(_LAST_CONTENT)]
                    kept = kept[-len(_LAST_CONTENT) :]
    except zstandard.ZstdError as error:
        raise _malformed(name, where, f"cannot be unpacked ({str(error)[:80]})") from None
    if kept != _LAST_CONTENT:
        raise _malformed(name, where, "ends in the middle of its zstd stream")


class _Readable:
    """Pieces as a file of bounded reads."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._left = b""

    def read(self, size: int = _PIECE) -> bytes:
        if not self._left:
            self._left = next(self._pieces, b"")
        taken, self._left = self._left[:size], self._left[size:]
        return taken


class _Forward:
    """A file for `tarfile` that goes forward, one byte excepted, which it steps back before each header."""

    def __init__(self, pieces: Iterator[bytes], too_long: Callable[[], InspectError]) -> None:
        self._pieces = pieces
        self._too_long = too_long
        self._piece = b""
        self._offset = 0  # in the piece
        self._at = 0  # in the whole
        self._last = b""  # the byte before
        self._back = False
        self._header_left: int | None = limits.HEADER_BYTES
        self._block = b""  # what was read last for a header

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
        """Read to the end. Is there anything but zeros where `tarfile` has seen the end of the archive?"""
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
