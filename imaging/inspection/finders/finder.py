"""What a finder is: it says which files it wants, gets their content piece by piece, and keeps what it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from imaging.inspection.layers import Entry

MOST: Final = 2000
"""Findings of one kind that are kept: a real image has a hundred, and memory is bounded."""
THIS_LAYER: Final = 0
"""What a finding has for its layer, until those of all layers come together."""


class Sink(Protocol):
    """Takes one file's content."""

    def feed(self, piece: bytes) -> None: ...

    def end(self) -> None: ...


class Finder(Protocol):
    """Called for every regular file of one layer."""

    def open(self, entry: Entry) -> Sink | None:
        """A sink for a file whose content is wanted; None for all others."""


class Text:
    """A sink that holds a text up to a limit and hands it over at the end."""

    def __init__(self, most: int, use: Callable[[bytes], None]) -> None:
        self._left = most
        self._parts: list[bytes] = []
        self._use = use

    def feed(self, piece: bytes) -> None:
        if self._left > 0:
            self._parts.append(piece[: self._left])
            self._left -= len(piece)

    def end(self) -> None:
        self._use(b"".join(self._parts))
