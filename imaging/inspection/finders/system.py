"""Finds the distribution and its C library, for Apptainer's `--nv`."""

import re
from typing import Final

from imaging.inspection import limits
from imaging.inspection.facts import Statement
from imaging.inspection.finders.finder import MOST, THIS_LAYER, Sink, Text
from imaging.inspection.layers import Entry

_RELEASE: Final = re.compile(r"^(?:etc|usr/lib)/os-release$")
_GLIBC: Final = re.compile(r"^(?:usr/)?lib(?:64)?/(?:[\w-]+/)?libc(?:\.so\.6|-\d\.\d+\.so)$")
_VERSION: Final = re.compile(rb"GNU C Library [^\n]{0,80}release version (\d+\.\d+)")
_NAME: Final = re.compile(r'^PRETTY_NAME="?([^"\n]{1,80})', re.MULTILINE)
_MUSL: Final = re.compile(r"^lib/ld-musl-[\w]+\.so\.1$")
_LONGEST_LIBRARY: Final = 16 << 20


class SystemFinder:
    """`found`: `system` and `glibc`; the last layer's counts."""

    def __init__(self) -> None:
        self.found: list[Statement] = []

    def open(self, entry: Entry) -> Sink | None:
        path = entry.path
        if len(self.found) > MOST:
            return None
        if _RELEASE.match(path):
            return Text(limits.TEXT_BYTES, lambda text: self._release(text, path))
        if _GLIBC.match(path) and entry.size <= _LONGEST_LIBRARY:
            return Text(_LONGEST_LIBRARY, lambda content: self._library(content, path))
        if _MUSL.match(path):
            self.found.append(Statement("glibc", "musl", "musl", path, THIS_LAYER))
        return None

    def _release(self, text: bytes, path: str) -> None:
        if match := _NAME.search(text.decode("utf-8", "replace")):
            self.found.append(Statement("system", match[1], "os-release", path, THIS_LAYER))

    def _library(self, content: bytes, path: str) -> None:
        if match := _VERSION.search(content):
            self.found.append(Statement("glibc", match[1].decode(), "libc", path, THIS_LAYER))
