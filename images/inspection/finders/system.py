"""The distribution and its C library, which Apptainer's `--nv` depends on."""

from __future__ import annotations

import re
from typing import Final

from images.inspection import limits
from images.inspection.finders.finder import MOST, Sink, Text
from images.inspection.layers import Entry

_RELEASE: Final = re.compile(r"^(?:etc|usr/lib)/os-release$")
_GLIBC: Final = re.compile(r"^(?:usr/)?lib(?:64)?/(?:[\w-]+/)?libc(?:\.so\.6|-\d\.\d+\.so)$")
_VERSION: Final = re.compile(rb"GNU C Library [^\n]{0,80}release version (\d+\.\d+)")
_NAME: Final = re.compile(r'^PRETTY_NAME="?([^"\n]{1,80})', re.MULTILINE)
_MUSL: Final = re.compile(r"^lib/ld-musl-[\w]+\.so\.1$")
_LONGEST_LIBRARY: Final = 16 << 20


class SystemFinder:
    """Each with the path and layer it was read in; the last layer's counts."""

    def __init__(self) -> None:
        self.system: list[tuple[str, str, int]] = []
        self.glibc: list[tuple[str, str, int]] = []

    def open(self, entry: Entry, layer: int) -> Sink | None:
        path = entry.path
        if len(self.system) + len(self.glibc) > MOST:
            return None
        if _RELEASE.match(path):
            return Text(limits.TEXT_BYTES, lambda text: self._release(text, path, layer))
        if _GLIBC.match(path) and entry.size <= _LONGEST_LIBRARY:
            return Text(_LONGEST_LIBRARY, lambda content: self._library(content, path, layer))
        if _MUSL.match(path):
            self.glibc.append(("musl", path, layer))
        return None

    def _release(self, text: bytes, path: str, layer: int) -> None:
        if match := _NAME.search(text.decode("utf-8", "replace")):
            self.system.append((match[1], path, layer))

    def _library(self, content: bytes, path: str, layer: int) -> None:
        if match := _VERSION.search(content):
            self.glibc.append((match[1].decode(), path, layer))
