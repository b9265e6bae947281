"""Unpacks a compressed layer in pieces of bounded length, whatever its headers say."""

import itertools
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from imaging.inspection import limits
from imaging.inspection.faults import InspectError

_GZIP, _ZSTD, _SKIPPABLE = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"
_PIECE: Final = 1 << 18
# The library does not report a truncated frame. So we append one more, which only unpacks if all before did.
_LAST_FRAME: Final = b"\x28\xb5\x2f\xfd\x20\x40\x03\x02\x00Z"
_LAST_CONTENT: Final = b"Z" * 64
AGAIN: Final = "build and push the image again"


@dataclass(slots=True)
class UnpackedTotal:
    """Bytes unpacked so far, of all layers of an image."""

    name: str
    unpacked: int = 0

    def grow(self, count: int) -> None:
        """Raises InspectError if there are more than in any real image."""
        self.unpacked += count
        if self.unpacked > limits.UNPACKED_BYTES:
            what = f"unpacks to more than {limits.UNPACKED_BYTES:,} bytes"
            raise InspectError(self.name, what, "do not use this image")


def compression(head: bytes) -> str:
    """By the first bytes, like container engines, because media types are often wrong: gzip, zstd or none."""
    if head.startswith(_GZIP):
        return "gzip"
    if head.startswith(_ZSTD) or (head[1:4] == _SKIPPABLE and 0x50 <= head[0] <= 0x5F):
        return "zstd"
    return "none"


def named_compression(media_type: str) -> str:
    """By the media type; `unknown` for one that is not a layer's."""
    if media_type.endswith(("+gzip", ".gzip")):
        return "gzip"
    if media_type.endswith("+zstd"):
        return "zstd"
    return "none" if media_type.endswith((".tar", ".diff")) else "unknown"


def malformed(name: str, where: str, what: str) -> InspectError:
    return InspectError(name, f"{where} {what}", AGAIN)


def counted(name: str, where: str, packed: int, pieces: Iterator[bytes], total: UnpackedTotal) -> Iterator[bytes]:
    count = 0
    for piece in pieces:
        count += len(piece)
        if count > limits.RATIO_FROM and count > limits.RATIO * max(packed, 1):
            raise InspectError(
                name,
                f"{where} unpacks to more than {limits.RATIO} times its {packed:,} bytes, as an archive bomb does",
                "do not use this image",
            )
        total.grow(len(piece))
        yield piece


def unpacked(name: str, where: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Unpacked pieces of bounded length, whatever the compression."""
    head = b""
    for piece in pieces:
        head += piece
        if len(head) >= 4:
            break
    kind = compression(head)
    whole = itertools.chain([head] if head else [], pieces)
    if kind == "gzip":
        yield from _gunzipped(name, where, whole)
    elif kind == "zstd":
        yield from _unzstd(name, where, whole)
    else:
        yield from whole


def _gunzipped(name: str, where: str, pieces: Iterator[bytes]) -> Iterator[bytes]:
    state = zlib.decompressobj(31)
    for piece in pieces:
        data, holds_more = piece, False
        while data or holds_more:
            if state.eof:  # some builders write several gzip members, some pad the last one with zeros
                data = data.lstrip(b"\0")
                if not data:
                    break
                state = zlib.decompressobj(31)
            try:
                out = state.decompress(data, _PIECE)
            except zlib.error as error:
                raise malformed(name, where, f"cannot be unpacked ({error})") from None
            if out:
                yield out
            data = state.unused_data if state.eof else state.unconsumed_tail
            holds_more = len(out) == _PIECE and not state.eof
    if not state.eof:
        raise malformed(name, where, "ends in the middle of its gzip stream")


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
        raise malformed(name, where, f"cannot be unpacked ({str(error)[:80]})") from None
    if kept != _LAST_CONTENT:
        raise malformed(name, where, "ends in the middle of its zstd stream")


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
