"""Reads the JSON Lines of `check --batch` and `matrix`: numbered lines of bounded size."""

from collections.abc import Iterator
from typing import BinaryIO, Final

LONGEST: Final = 1 << 20  # bytes of one line without its end
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


def numbered_lines(stream: BinaryIO) -> Iterator[tuple[int, bytes | None]]:
    """The non-blank lines, numbered from 1; None for one that is too long."""
    number = 0
    while line := stream.readline(LONGEST + 1):
        number += 1
        if len(line) > LONGEST and line[-1:] != b"\n":
            while (rest := stream.readline(LONGEST)) and rest[-1:] != b"\n":
                pass
            yield number, None
            continue
        if number == 1:
            line = line.removeprefix(_BYTE_ORDER_MARK)
        if line and not line.isspace():
            yield number, line
