"""Finds the GPU targets of code in an image: shared objects, programs, fatbins, cubins and PTX."""

import re
import struct
from typing import Final

from imaging.inspection.facts import Code
from imaging.inspection.fatbin import Scanner
from imaging.inspection.finders.finder import MOST, THIS_LAYER, Sink
from imaging.inspection.layers import Entry
from imaging.inspection.loaded_libraries import LoadedLibraries

_NAMED: Final = re.compile(r"\.(so(\.\d+)*|fatbin|nv_fatbin|cubin|ptx|pyd)$")
_NO_SUFFIX: Final = re.compile(r"(^|/)[^/.]+$")
_SMALLEST: Final = 256
_PTX_VERSION: Final = re.compile(rb"^\s*\.version\s+(\d\.\d)", re.MULTILINE)
_PTX_TARGET: Final = re.compile(rb"^\s*\.target\s+sm_(\d{2,3}[af]?)", re.MULTILINE)
_MACHINE_CUDA: Final = 190  # EM_CUDA
_NEW_ABI: Final = 8  # of the ELF header: from CUDA 13 on the architecture is one byte further up


class DeviceCodeFinder:
    """Static archives are left out: nothing loads them."""

    def __init__(self) -> None:
        self.found: list[Code] = []

    def open(self, entry: Entry) -> Sink | None:
        if entry.size < _SMALLEST or not (_NAMED.search(entry.path) or _NO_SUFFIX.search(entry.path)):
            return None
        if entry.path.endswith(".ptx"):
            return _Ptx(self.found, entry.path)
        return _Binary(self.found, entry.path)


class _Binary:
    def __init__(self, found: list[Code], path: str) -> None:
        self._found, self._path = found, path
        self._head = b""
        self._scanner: Scanner | None = Scanner()
        self._loads = LoadedLibraries() if "/nvidia/" not in path else None  # NVIDIA's own are no program
        self._is_new = True

    def feed(self, piece: bytes) -> None:
        if self._is_new:
            self._is_new = False
            self._head = piece[:64]
            if self._head[:4] != b"\x7fELF" and not self._path.endswith("fatbin"):
                self._scanner = None
        if self._scanner is not None:
            self._scanner.feed(piece)
            if self._loads is not None:
                self._loads.feed(piece)

    def end(self) -> None:
        if self._scanner is None:
            return
        loaded = sorted(self._scanner.loaded().items())
        cubins = tuple((str(target), count) for target, count in loaded if target.kind == "cubin")
        ptx = tuple((str(target), count) for target, count in loaded if target.kind == "ptx")
        if not cubins and (own := _cubin(self._head)):
            cubins = ((own, 1),)
        if (cubins or ptx) and len(self._found) < MOST:
            compressed = tuple(map(str, sorted(self._scanner.compressed())))
            languages = tuple((str(target), isa) for target, isa in sorted(self._scanner.languages().items()))
            loads = tuple(sorted(self._loads.found)) if self._loads else ()
            self._found.append(Code(self._path, THIS_LAYER, cubins, ptx, compressed, languages, loads))


class _Ptx:
    def __init__(self, found: list[Code], path: str) -> None:
        self._found, self._path = found, path
        self._head = b""

    def feed(self, piece: bytes) -> None:
        self._head += piece[: 4096 - len(self._head)]  # the target stands before any code

    def end(self) -> None:
        match = _PTX_TARGET.search(self._head)
        if match and len(self._found) < MOST:
            target, version = f"compute_{match[1].decode()}", _PTX_VERSION.search(self._head)
            languages = ((target, version[1].decode()),) if version else ()
            self._found.append(Code(self._path, THIS_LAYER, (), ((target, 1),), languages=languages))


def _cubin(head: bytes) -> str:
    """The target of a bare cubin, which is an ELF of its own machine; empty for any other file."""
    if len(head) < 52 or head[:6] != b"\x7fELF\x02\x01" or struct.unpack_from("<H", head, 18)[0] != _MACHINE_CUDA:
        return ""
    (flags,) = struct.unpack_from("<I", head, 48)
    architecture = flags >> 8 & 0xFF if head[8] >= _NEW_ABI else flags & 0xFF
    return f"sm_{architecture}" if 10 <= architecture < 200 else ""
