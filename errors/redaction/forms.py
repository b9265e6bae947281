"""Recognises secrets by their format alone.

The rows of forms.csv come from gitleaks (tools/token_forms.py); own_forms.csv has well-known formats that its rules
lack, or define more narrowly.
"""

import csv
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from errors.redaction.written import Span

_REFERENCE: Final = re.compile(r"\$(?:[A-Z_]+|\{[^{}]*\}|\([\w.-]*\))|\{\{.*\}\}")  # https://bob:${PASSWORD}@…


@cache
def _forms() -> tuple[tuple[tuple[str, ...], re.Pattern[str]], ...]:
    """Words in lower case, and a pattern: a text without any of the words is not searched."""
    found = []
    for name in ("own_forms.csv", "forms.csv"):
        with (Path(__file__).parent / name).open(newline="", encoding="utf-8") as file:
            found += [
                (tuple(row["words"].split()), re.compile(row["pattern"], re.DOTALL)) for row in csv.DictReader(file)
            ]
    return tuple(found)


def known_spans(text: str) -> Iterator[Span]:
    """Spans of tokens, keys and logins of known form."""
    low = text.lower()
    for words, pattern in _forms():
        if any(word in low for word in words):
            for match in pattern.finditer(text):
                number = 1 if pattern.groups and match[1] else 0
                if not _REFERENCE.fullmatch(match[number].rpartition(":")[2]):
                    yield match.span(number)
