"""Finds the GPU stack's shared libraries with versions: CUDA, cuDNN, NCCL, driver."""

import re
from dataclasses import replace
from typing import Final

from imaging.inspection import limits
from imaging.inspection.facts import DriverPart, Library
from imaging.inspection.finders.finder import MOST, THIS_LAYER, Sink, Text
from imaging.inspection.layers import Entry

_LIBRARY: Final = re.compile(
    r"(?:^|/)lib(cudart|cublas|cublasLt|cudnn|nccl|cufft|curand|cusolver|cusparse|nvrtc|nvJitLink|nvinfer|cutensor)"
    r"(?:-[0-9a-f]{6,})?\.so(?:\.(\d+(?:\.\d+)*))?$"  # auditwheel adds the dashed part
)
_DRIVER: Final = re.compile(
    r"(?:^|/)(?:lib(?:cuda|nvidia-(?!container)[\w-]+|nvcuvid)\.so(?:\.(\d+(?:\.\d+)*))?"
    r"|nvidia(?:-[a-z]+)*\.ko(?:\.\w+)?|(?:s?bin)/nvidia-(?:smi|persistenced|modprobe))$"
)
_COMPAT: Final = re.compile(r"(?:^|/)(?:cuda-)?compat(?:_orin)?/")
LOADER: Final = "ld.so.conf"
"""Name of a file among the compat libraries that has the loader search their folder."""
_LOADER: Final = re.compile(r"etc/ld\.so\.conf(?:\.d/[^/]+\.conf)?")
_NAMES_COMPAT: Final = re.compile(rb"^\s*/\S*\bcompat\b", re.MULTILINE)
_STUB: Final = re.compile(r"(?:^|/)stubs/")
_NCCL: Final = re.compile(rb"NCCL version (\d+\.\d+\.\d+)")
_KEEP: Final = 64  # bytes of a piece that the next one may need


class LibraryFinder:
    """`found`, `driver` (which must not be in an image) and `compat` (which may)."""

    def __init__(self) -> None:
        self.found: list[Library] = []
        self.driver: list[DriverPart] = []
        self.compat: list[Library] = []

    def open(self, entry: Entry) -> Sink | None:
        if len(self.found) + len(self.driver) + len(self.compat) > MOST:
            return None
        if _STUB.search(entry.path):
            return None  # stubs for linking; nothing loads them
        if _LOADER.fullmatch(entry.path):
            return Text(limits.TEXT_BYTES, lambda text: self._loader(text, entry))
        match = _LIBRARY.search(entry.path)
        if match and entry.size:
            library = Library(match[1], match[2] or "", entry.path, THIS_LAYER, entry.size)
            if match[1] == "nccl" and library.version.count(".") < 2:
                return _Nccl(self.found, library)
            self.found.append(library)
        elif match := _DRIVER.search(entry.path):
            if _COMPAT.search(entry.path):
                if "libcuda.so" in entry.path:
                    self.compat.append(Library("cuda", match[1] or "", entry.path, THIS_LAYER, entry.size))
            else:
                self.driver.append(DriverPart(entry.path, entry.size, _kind(entry, match[1] or ""), THIS_LAYER))
        return None

    def _loader(self, text: bytes, entry: Entry) -> None:
        if _NAMES_COMPAT.search(text):
            self.compat.append(Library(LOADER, "", entry.path, THIS_LAYER, entry.size))


def _kind(entry: Entry, version: str) -> str:
    if not entry.size:
        return "an empty file that a container with a GPU has left"
    if ".ko" in entry.path:
        return "kernel module"
    return f"driver {version}" if version.count(".") and len(version.partition(".")[0]) == 3 else "driver file"


class _Nccl:
    """NCCL has its version in a string of its own; file names in wheels lack it."""

    def __init__(self, found: list[Library], library: Library) -> None:
        self._found, self._library = found, library
        self._rest = b""
        self._version = ""

    def feed(self, piece: bytes) -> None:
        if not self._version:
            data = self._rest + piece
            match = _NCCL.search(data)
            self._version = match[1].decode() if match else ""
            self._rest = data[-_KEEP:]

    def end(self) -> None:
        self._found.append(replace(self._library, version=self._version or self._library.version))
