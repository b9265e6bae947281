"""Finds secrets in base64, also of gzip: files of a container, user data, `binaryData`. Pure."""

import binascii
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from errors.redaction.written import Span

_BASE64: Final = re.compile(r"(?<![\w+/.-])[A-Za-z0-9+/]{16,}={0,2}(?![\w+/=-])")
_GZIP: Final = b"\x1f\x8b"
_LONGEST: Final = 1_000_000  # characters; of a longer text only the beginning is decoded
_PRINTABLE: Final = re.compile(r"[^\x00-\x08\x0e-\x1f\x7f]*")


def encoded_spans(text: str, spans_of: Callable[[str], Iterable[Span]]) -> Iterator[Span]:
    """Spans of base64 whose decoded text has a secret according to `spans_of`: the whole of it is one then."""
    for match in _BASE64.finditer(text):
        decoded = _decoded(match[0])
        if decoded and next(iter(spans_of(decoded)), None):
            yield match.span()


def _decoded(word: str) -> str:
    """The text in it; empty for a digest, a path, or anything else that is no text."""
    bare = word.rstrip("=")[:_LONGEST]
    try:
        content = binascii.a2b_base64(bare[: len(bare) - (len(bare) % 4 == 1)] + "=" * (-len(bare) % 4))
        if content.startswith(_GZIP):
            content = zlib.decompressobj(wbits=31).decompress(content, _LONGEST)
        text = content.decode()
    except (ValueError, zlib.error):
        return ""
    return text if _PRINTABLE.fullmatch(text) else ""
