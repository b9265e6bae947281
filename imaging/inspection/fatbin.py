"""Reads the GPU targets of a file's device code from its fatbin headers. Pure: bytes in, counts out.

A fatbin is a container (magic 0xBA55ED50) of entries, one for each target: cubins run on their own GPU architecture,
PTX is compiled by the driver for any newer one. The headers are never compressed, so nothing is unpacked here, and
stripped libraries work as well as others. The layout was checked against NVIDIA's `fatbinary` and `cuobjdump` 13.4:

    container   u32 magic, u16 version 1, u16 header size, u64 size of all entries
    entry +0    u16 kind, u16 version, u32 header size, u64 payload size
          +24   u16 minor, u16 major: of the PTX language for PTX, of the ELF ABI for a cubin
          +28   u32 architecture: 75, 90, 120
          +40   u64 flags: bit 20 says `a` (this GPU only), bit 21 says `f` (its family only), bit 13 that the
                payload is compressed by LZ4 (`--compress-mode=speed`), bit 15 by zstd (`balance`, `size`)
    kind 0x100  cubins packed together (`fatbinary --concat`): at +64 u32 count, u32 size, then entry headers
"""

import struct
from array import array
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

Kind = Literal["cubin", "ptx"]

_MAGIC = struct.pack("<I", 0xBA55ED50)
_CONTAINER = struct.Struct("<IHHQ")
_ENTRY = struct.Struct("<HHIQ8xHHI8xQ16x")
_KINDS: Mapping[int, Kind] = {1: "ptx", 2: "cubin", 4: "cubin"}  # no driver loads NVVM, relocatable PTX and tile IR
_INDEX, _CONCATENATED = 0x20, 0x100  # neither is code itself
_THIS_GPU_ONLY, _FAMILY_ONLY, _BY_ZSTD = 1 << 20, 1 << 21, 1 << 15
_LARGEST_HEADER = 1 << 16
_LARGEST_CONTAINER = 1 << 40
_MOST_KEPT = 2_000_000  # containers and distinct entries; the library with most has some hundred thousand
_ELF_HEADER = 64
_SECTION = struct.Struct("<II16xQQ24x")  # name, type, …, offset, size
_NO_BITS = 8  # a section without bytes in the file
_SECTION_WINDOW = 1 << 20  # linkers write the section names just before the section headers

EXECUTABLE = ".nv_fatbin"
"""The section loaded by the CUDA runtime."""
RELOCATABLE = "__nv_relfatbin"
"""Input of the device linker for `.nv_fatbin`. Its cubins are never loaded; its PTX serves newer GPUs only if the
driver links it at load time, which not every library requests (NCCL keeps all its PTX here)."""


@dataclass(frozen=True, slots=True, order=True)
class Target:
    """Device code of a kind for one compute capability. 9.0a sorts before 10.0."""

    kind: Kind
    architecture: int  # 90
    suffix: str = ""  # a: this GPU only; f: its family only

    def __str__(self) -> str:
        """As compilers write it: `sm_90a`, `compute_90`."""
        return f"{'sm' if self.kind == 'cubin' else 'compute'}_{self.architecture}{self.suffix}"


_Code = tuple[Target, bool, str]  # whether zstd compresses it; the version of the PTX language, 8.5


class Scanner:
    """Scans a file piece by piece and keeps no more than one header (and the ELF's own section table)."""

    def __init__(self) -> None:
        self._pending = b""
        self._start = 0  # where in the file `_pending` begins
        self._skip = 0  # bytes of payload still to pass over
        self._end = 0  # where the current container ends; 0 outside one
        self._inside: list[_Code] = []
        self._has_code = False  # of any kind, including a container of code that is never loaded
        self._began = 0
        self._seen: dict[tuple[_Code, ...], int] = {}  # few different lists, many containers
        self._offsets = array("Q")
        self._lists = array("L")
        self._kept = 0
        self._sections = _Sections()

    def feed(self, chunk: bytes) -> None:
        self._sections.feed(chunk)
        if self._kept + len(self._inside) > _MOST_KEPT:
            return  # a file made to fill memory
        if self._skip >= len(chunk) and not self._pending:
            self._skip -= len(chunk)
            self._start += len(chunk)
            return
        data = self._pending + chunk
        at = 0
        while (step := self._step(data, at)) is not None:
            at = step
        self._pending = data[at:]
        self._start += at

    def loaded(self) -> Counter[Target]:
        """Targets that a process loads, with their entries; called at the end of the file.

        Everything outside `__nv_relfatbin`, or everything if there is no `.nv_fatbin`. A target in few of many
        containers has code of few kernels only.
        """
        found: Counter[Target] = Counter()
        for (target, _, _), count in self._loaded().items():
            found[target] += count
        return found

    def compressed(self) -> frozenset[Target]:
        """Loaded targets with code compressed by zstd: drivers before 550.54.14 refuse it."""
        return frozenset(target for target, by_zstd, _ in self._loaded() if by_zstd)

    def languages(self) -> dict[Target, str]:
        """Loaded PTX, and the newest version of its language: the driver must know it to compile that code."""
        found: dict[Target, str] = {}
        for target, _, isa in self._loaded():
            if isa:
                found[target] = max(isa, found.get(target, isa), key=_steps)
        return found

    def isas(self) -> frozenset[str]:
        """Versions of the PTX language in loaded code: a driver must know them to compile it."""
        return frozenset(isa for _, _, isa in self._loaded() if isa)

    def _loaded(self) -> Counter[_Code]:
        if self._end:
            self._close()
        spans, lists = self._sections.spans(), list(self._seen)
        by_section: dict[str, Counter[_Code]] = {}
        for offset, number in zip(self._offsets, self._lists, strict=True):
            name = next((name for name, start, stop in spans if start <= offset < stop), "")
            by_section.setdefault(name, Counter()).update(lists[number])
        if EXECUTABLE in by_section:
            by_section.pop(RELOCATABLE, None)
        return sum(by_section.values(), Counter())

    def _step(self, data: bytes, at: int) -> int | None:
        """Go one step on from `at`; None if more bytes are needed."""
        if self._skip:
            passed = min(self._skip, len(data) - at)
            self._skip -= passed
            return at + passed if passed else None
        if self._end:
            return self._entry(data, at)
        found = data.find(_MAGIC, at)
        if found < 0:
            rest = max(at, len(data) - len(_MAGIC) + 1)
            return rest if rest > at else None
        if len(data) - found < _CONTAINER.size:
            return found if found > at else None
        version: int
        header: int
        size: int
        _, version, header, size = _CONTAINER.unpack_from(data, found)
        if version != 1 or header != _CONTAINER.size or size > _LARGEST_CONTAINER:
            return found + 1
        self._began = self._start + found
        self._end = self._began + header + size
        return found + header

    def _entry(self, data: bytes, at: int) -> int | None:
        here = self._start + at
        if here >= self._end:
            self._close()
            return at
        if len(data) - at < _ENTRY.size:
            return None
        header: int
        kind, _, header, size, minor, major, architecture, flags = _ENTRY.unpack_from(data, at)
        fits = _ENTRY.size <= header <= _LARGEST_HEADER and here + header + size <= self._end
        if not fits or not (kind in {_INDEX, _CONCATENATED} or 10 <= architecture < 1000):
            self._close()  # not a header: no container after all, or one of an unknown layout
            return at
        if len(data) - at < header:
            return None
        if kind == _CONCATENATED:
            self._inside += _concatenated(data[at + _ENTRY.size : at + header])
        else:
            self._inside += _targets(kind, architecture, flags, f"{major}.{minor}")
        self._has_code |= kind != _INDEX
        self._skip = size
        return at + header

    def _close(self) -> None:
        self._end = 0
        if self._has_code:
            self._offsets.append(self._began)
            count = len(self._seen)
            self._lists.append(self._seen.setdefault(tuple(self._inside), count))
            self._kept += 1 + (len(self._inside) if len(self._seen) > count else 0)
        self._inside, self._has_code = [], False


def _steps(isa: str) -> tuple[int, ...]:
    return tuple(map(int, isa.split(".")))


def _targets(kind: int, architecture: int, flags: int, isa: str) -> Iterator[_Code]:
    """The target of an entry; none for an index, or for a kind that no process loads."""
    if kind in _KINDS:
        suffix = "a" if flags & _THIS_GPU_ONLY else "f" if flags & _FAMILY_ONLY else ""
        name = _KINDS[kind]
        yield Target(name, architecture, suffix), bool(flags & _BY_ZSTD), isa if name == "ptx" else ""


def _concatenated(table: bytes) -> Iterator[_Code]:
    if len(table) < 8:
        return
    (count,) = struct.unpack_from("<I", table)
    for at in range(8, min(8 + count * _ENTRY.size, len(table) - _ENTRY.size + 1), _ENTRY.size):
        kind, _, _, _, minor, major, architecture, flags = _ENTRY.unpack_from(table, at)
        yield from _targets(kind, architecture, flags, f"{major}.{minor}")


class _Sections:
    """Collects a 64-bit ELF's section headers and their names from the stream."""

    def __init__(self) -> None:
        self._head = b""
        self._at = 0
        self._table = 0  # where the section headers begin; 0 until known
        self._count = 0
        self._names = 0  # which section holds the names
        self._from = 0  # first byte of the file that `_kept` has
        self._kept = bytearray()

    def feed(self, chunk: bytes) -> None:
        begin, self._at = self._at, self._at + len(chunk)
        if begin < _ELF_HEADER:
            self._head += chunk
            if self._at < _ELF_HEADER:
                return
            begin, chunk, self._head = 0, self._head, b""
            if chunk[:6] == b"\x7fELF\x02\x01":
                (self._table,) = struct.unpack_from("<Q", chunk, 40)
                self._count, self._names = struct.unpack_from("<HH", chunk, 60)
                self._from = max(0, self._table - _SECTION_WINDOW)
        end = self._table + _SECTION.size * self._count
        if self._table and self._at > self._from and begin < end:
            self._kept += chunk[max(0, self._from - begin) : end - begin]

    def spans(self) -> list[tuple[str, int, int]]:
        """Name, start and end of each section; none if the file is no ELF or keeps its names far from its headers."""
        at = self._table - self._from
        if not self._table or len(self._kept) < at + _SECTION.size * self._count or self._names >= self._count:
            return []
        headers = [_SECTION.unpack_from(self._kept, at + _SECTION.size * number) for number in range(self._count)]
        _, _, start, size = headers[self._names]
        if not self._from <= start <= start + size <= self._from + len(self._kept):
            return []
        names = bytes(self._kept[start - self._from : start - self._from + size])
        return [
            (names[name:].partition(b"\0")[0].decode("ascii", "replace"), start, start + size)
            for name, kind, start, size in headers
            if kind != _NO_BITS
        ]
