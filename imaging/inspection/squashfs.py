"""Reads the files of a squashfs 4.0, which a SIF file carries, in place and in bounded memory.

The readers on PyPI hold the whole tree and unpack a block to any size it states; one is under the AGPL.
Layout: https://dr-emann.github.io/squashfs/squashfs.html and Linux `fs/squashfs/squashfs_fs.h`.
"""

import lzma
import struct
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import BinaryIO, Final

from imaging.inspection import limits
from imaging.inspection.layers import Entry

_MAGIC: Final = 0x73717368
_SUPERBLOCK: Final = struct.Struct("<5I6H8Q")
_BLOCK: Final = 8192  # bytes of an unpacked block of metadata
_LARGEST_BLOCK: Final = 1 << 20
_NONE: Final = 0xFFFFFFFF
_DIRECTORY, _FILE, _SYMLINK, _LONG_DIRECTORY, _LONG_FILE, _LONG_SYMLINK = 1, 2, 3, 8, 9, 10
_NAMES: Final = {1: "gzip", 2: "lzma", 3: "lzo", 4: "xz", 5: "lz4", 6: "zstd"}
_MEMORY: Final = 64 << 20  # bytes that xz may use


class SquashfsError(ValueError):
    """Why it cannot be read: follows the file name in a message."""


@dataclass(frozen=True, slots=True)
class _Inode:
    kind: int
    start: int = 0
    offset: int = 0
    size: int = 0
    fragment: int = _NONE
    sizes: tuple[int, ...] = ()
    target: str = ""


class Squashfs:
    """Opened at `offset` of a file; raises SquashfsError."""

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self._file = file
        self._offset = offset
        fields = _SUPERBLOCK.unpack(self._at(0, _SUPERBLOCK.size))
        magic, _, _, self._block, self._fragments, kind, log, _, _, major, _ = fields[:11]
        self._root, _, _, _, self._inode_table, self._folder_table, self._fragment_table, _ = fields[11:]
        if magic != _MAGIC or major != 4 or self._block > _LARGEST_BLOCK or 1 << log != self._block:
            raise SquashfsError("has a partition that is not squashfs 4.0")
        self.compression = _NAMES.get(kind, "an unknown compression")
        unpack = _UNPACKERS.get(self.compression)
        if unpack is None:
            raise SquashfsError(f"is packed with {self.compression}, which is not read here; gzip, xz and zstd are")
        self._unpack: Callable[[bytes, int], bytes] = unpack
        self._metadata = lru_cache(256)(self._read_metadata)
        self._fragment = lru_cache(4)(self._read_fragment)

    def entries(self) -> Iterator[Entry]:
        """Every file and directory, directories first; directory loops are refused."""
        left: list[tuple[str, int]] = [("", self._root)]
        seen: set[int] = set()
        while left:
            path, reference = left.pop()
            if reference in seen:
                raise SquashfsError("has a directory that contains itself")
            seen.add(reference)
            for name, kind, below in self._listing(self._inode(reference)):
                child = f"{path}/{name}" if path else name
                if len(child) > limits.PATH_BYTES or child.count("/") > limits.DEPTH:
                    raise SquashfsError("has directories too deep in each other")
                if kind in {_DIRECTORY, _LONG_DIRECTORY}:
                    left.append((child, below))
                    yield Entry(child, "directory", 0, "", lambda: iter(()))
                else:
                    yield self._entry(child, below)

    def read(self, path: str, most: int) -> bytes:
        """A file's first bytes; empty if it is missing."""
        reference = self._root
        for step in path.split("/"):
            inode = self._inode(reference)
            if inode.kind not in {_DIRECTORY, _LONG_DIRECTORY}:
                return b""
            found = [below for name, _, below in self._listing(inode) if name == step]
            if not found:
                return b""
            reference = found[0]
        content = b""
        for piece in self._pieces(self._inode(reference)):
            content += piece
            if len(content) >= most:
                break
        return content[:most]

    def _entry(self, path: str, reference: int) -> Entry:
        inode = self._inode(reference)
        if inode.kind in {_FILE, _LONG_FILE}:
            return Entry(path, "file", inode.size, "", lambda: self._pieces(inode))
        kind = "symlink" if inode.kind in {_SYMLINK, _LONG_SYMLINK} else "other"
        return Entry(path, kind, 0, inode.target, lambda: iter(()))

    def _pieces(self, inode: _Inode) -> Iterator[bytes]:
        if inode.kind not in {_FILE, _LONG_FILE}:
            return
        at, left = inode.start, inode.size
        for word in inode.sizes:
            size, length = word & 0xFFFFFF, min(self._block, left)
            if size == 0:
                piece = bytes(length)  # a hole
            else:
                packed = self._at(at, size)
                piece = packed if word & 1 << 24 else self._unpack(packed, self._block)
            if len(piece) < length:
                raise SquashfsError("has a file that ends too early")
            at, left = at + size, left - length
            yield piece[:length]
        if left and inode.fragment != _NONE:
            yield self._fragment(inode.fragment)[inode.offset : inode.offset + left]

    def _inode(self, reference: int) -> _Inode:
        reader = _Reader(self._metadata, self._inode_table + (reference >> 16), reference & 0xFFFF)
        (kind,) = struct.unpack_from("<H", reader.take(16))
        if kind == _DIRECTORY:
            start, _, size, offset, _ = struct.unpack("<IIHHI", reader.take(16))
            return _Inode(kind, start, offset, size)
        if kind == _LONG_DIRECTORY:
            _, size, start, _, _, offset, _ = struct.unpack("<IIIIHHI", reader.take(24))
            return _Inode(kind, start, offset, size)
        if kind in {_FILE, _LONG_FILE}:
            if kind == _FILE:
                start, fragment, offset, size = struct.unpack("<IIII", reader.take(16))
            else:
                start, size, _, _, fragment, offset, _ = struct.unpack("<QQQIIII", reader.take(40))
            if size > limits.FILE_BYTES:
                raise SquashfsError(f"has a file of {size:,} bytes; at most {limits.FILE_BYTES:,} are read")
            count = size // self._block if fragment != _NONE else -(-size // self._block)
            return _Inode(kind, start, offset, size, fragment, struct.unpack(f"<{count}I", reader.take(4 * count)))
        if kind in {_SYMLINK, _LONG_SYMLINK}:
            _, length = struct.unpack("<II", reader.take(8))
            return _Inode(kind, target=reader.take(min(length, limits.PATH_BYTES)).decode("utf-8", "replace"))
        return _Inode(kind)

    def _listing(self, inode: _Inode) -> Iterator[tuple[str, int, int]]:
        """Name, kind and reference of a directory's entries."""
        left = inode.size - 3
        reader = _Reader(self._metadata, self._folder_table + inode.start, inode.offset)
        while left > 0:
            count, block, _ = struct.unpack("<III", reader.take(12))
            left -= 12
            for _ in range(min(count + 1, 256)):
                offset, _, kind, length = struct.unpack("<HhHH", reader.take(8))
                name = reader.take(length + 1).decode("utf-8", "replace")
                left -= 8 + length + 1
                if name in {".", ".."} or "/" in name:
                    raise SquashfsError("has a path that climbs out of the image")
                yield name, kind, block << 16 | offset

    def _read_metadata(self, at: int) -> tuple[bytes, int]:
        """A block of metadata, and where the next one begins."""
        (word,) = struct.unpack("<H", self._at(at, 2))
        size = word & 0x7FFF
        packed = self._at(at + 2, size)
        return (packed if word & 0x8000 else self._unpack(packed, _BLOCK)), at + 2 + size

    def _read_fragment(self, number: int) -> bytes:
        if number >= self._fragments:
            raise SquashfsError("has a file whose content is missing")
        (block,) = struct.unpack("<Q", self._at(self._fragment_table + 8 * (number // 512), 8))
        table, _ = self._metadata(block)
        start, word, _ = struct.unpack_from("<QII", table, 16 * (number % 512))
        packed = self._at(start, word & 0xFFFFFF)
        return packed if word & 1 << 24 else self._unpack(packed, self._block)

    def _at(self, position: int, size: int) -> bytes:
        self._file.seek(self._offset + position)
        data = self._file.read(size)
        if len(data) < size:
            raise SquashfsError("ends too early")
        return data


class _Reader:
    """Reads along metadata blocks."""

    def __init__(self, block: Callable[[int], tuple[bytes, int]], at: int, offset: int) -> None:
        self._block, self._offset = block, offset
        self._data, self._next = block(at)

    def take(self, size: int) -> bytes:
        parts = []
        while size > 0:
            if self._offset >= len(self._data):
                self._offset -= len(self._data)
                self._data, self._next = self._block(self._next)
                if not self._data:
                    raise SquashfsError("has an empty block")
                continue
            part = self._data[self._offset : self._offset + size]
            self._offset += len(part)
            size -= len(part)
            parts.append(part)
        return b"".join(parts)


def _gunzip(data: bytes, most: int) -> bytes:
    try:
        return zlib.decompressobj().decompress(data, most)
    except zlib.error as error:
        raise SquashfsError(f"cannot be unpacked ({error})") from None


def _unxz(data: bytes, most: int) -> bytes:
    try:
        return lzma.LZMADecompressor(memlimit=_MEMORY).decompress(data, most)
    except lzma.LZMAError as error:
        raise SquashfsError(f"cannot be unpacked ({error})") from None


def _unzstd(data: bytes, most: int) -> bytes:
    import zstandard  # noqa: PLC0415 - few SIF files use zstd

    try:
        with zstandard.ZstdDecompressor(max_window_size=limits.ZSTD_WINDOW_BYTES).stream_reader(data) as reader:
            return reader.read(most)
    except zstandard.ZstdError as error:
        raise SquashfsError(f"cannot be unpacked ({error})") from None


_UNPACKERS: Final[dict[str, Callable[[bytes, int], bytes]]] = {"gzip": _gunzip, "xz": _unxz, "zstd": _unzstd}
