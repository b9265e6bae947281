"""Finds secrets in base64, also of gzip: files of a container, user data, `binaryData`. Pure."""

import binascii
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from errors.redaction.written import Span

# Also with the line breaks that programs put into it, and in the alphabet of addresses.
_BASE64: Final = re.compile(
    r"(?<![\w+/.-])[A-Za-z0-9+/_-]{16,}(?:\r?\n[ \t]*[A-Za-z0-9+/_-]+(?=[\s\"'=]|$))*={0,2}(?![\w+/=-])"
)
_ALPHABET: Final = str.maketrans("-_", "+/", " \t\r\n")
_GZIP: Final = b"\x1f\x8b"
_LONGEST: Final = 1_000_000  # characters; of a longer text only the beginning is decoded
_PRINTABLE: Final = re.compile(r"[^\x00-\x08\x0e-\x1f\x7f]*")


def encoded_spans(text: str, spans_of: Callable[[str], Iterable[Span]]) -> Iterator[Span]:
    """Spans of base64 whose decoded text has a secret according to `spans_of`: the whole of it is one then."""
    for match in _BASE64.finditer(text):
        first_line = match[0].splitlines()[0]
        # What follows on its own line may be another word.
        for word in dict.fromkeys((match[0], first_line)):
            decoded = _decoded(word)
            if decoded and next(iter(spans_of(decoded)), None):
                yield match.start(), match.start() + len(word)
                break


def _decoded(word: str) -> str:
    """The text in it; empty for a digest, a path, or anything else that is no text."""
    bare = word.translate(_ALPHABET).rstrip("=")[:_LONGEST]
    try:
        content = binascii.a2b_base64(bare[: len(bare) - (len(bare) % 4 == 1)] + "=" * (-len(bare) % 4))
        if content.startswith(_GZIP):
            content = zlib.decompressobj(wbits=31).decompress(content, _LONGEST)
        text = content.decode("utf-8", "replace")  # a latin-1 letter, or half of one at the end
    except (ValueError, zlib.error):
        return ""
    return text if _PRINTABLE.fullmatch(text) else ""
