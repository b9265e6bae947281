"""Interface of finders: each selects files, gets their content piece by piece, and keeps its findings."""

from collections.abc import Callable
from typing import Final, Protocol

from imaging.inspection.layers import Entry

MOST: Final = 2000
"""Most findings of one kind: a real image has a hundred, and memory is bounded."""
THIS_LAYER: Final = 0
"""Layer number of a finding until the layers are merged."""


class Sink(Protocol):
    """Takes one file's content."""

    def feed(self, piece: bytes) -> None: ...

    def end(self) -> None: ...


class Finder(Protocol):
    """Called for every regular file of one layer."""

    def open(self, entry: Entry) -> Sink | None:
        """A sink if the file's content is wanted; None for all others."""


class Text:
    """A sink that keeps a text up to a limit and passes it on at the end."""

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
