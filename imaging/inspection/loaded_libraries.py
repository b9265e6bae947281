"""Finds the names of CUDA's libraries that a shared library loads, such as `libcudart.so.12`. Pure.

Names of needed libraries stand in an ELF between zero bytes; `auditwheel` adds a hash to those that it copies.
"""

import re
from collections.abc import Iterator
from typing import Final

_NAMED: Final = re.compile(
    rb"\0lib(cudart|cublas|cublasLt|cudnn|nvrtc|cusparse|cusolver|curand|cufft|nvinfer|nccl)(?:-[0-9a-f]{8})?"
    rb"\.so\.(\d+(?:\.\d+)*)(?=\0)"
)
_LONGEST: Final = 80  # bytes around the middle of a name, and kept between two pieces
_MIDDLE: Final = re.compile(rb"\.so\.\d")


class LoadedLibraries:
    """Takes a file piece by piece; `found` has its names so far: `cudart 12`, `cublas 11`."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self._before = b""

    def feed(self, piece: bytes) -> None:
        for words in (self._before + piece[: 2 * _LONGEST], piece):  # the cut apart: a copy of all would cost more
            for around in surroundings(words, _MIDDLE, _LONGEST):
                self.found |= {f"{name.decode()} {version.decode()}" for name, version in _NAMED.findall(around)}
        self._before = piece[-2 * _LONGEST :]


def surroundings(words: bytes, what: re.Pattern[bytes], most: int) -> Iterator[bytes]:
    """The bytes around each place of a simple pattern: one for whole names takes ten times as long over a library."""
    for found in what.finditer(words):
        yield words[max(0, found.start() - most) : found.start() + most]
