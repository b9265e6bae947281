"""JSON texts as regular expressions (PCRE and Python): what is allowed is written, nothing else matches. Pure.

A filter that parses JSON has to parse it as the receiver does, and receivers differ: Go takes `"PRIVILEGED"` for
`"Privileged"`, and of a key that is there twice the last one, or a mixture. So these patterns match the text itself,
as `json.dumps(value, sort_keys=True)` writes it: each key letter for letter, once, in order, in ASCII. A text that
matches is the same value for every parser.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_PART: Final = r'(?:[ !#-\[\]-~]|\\["\\/bfnrt]|\\u[0-9a-f]{4})*+'  # of a string: no quote, no backslash of its own
TEXT: Final = rf'"{_PART}"'


@dataclass(frozen=True, slots=True)
class May:
    """A value that may be missing, with its key."""

    pattern: str


def object_of(members: Mapping[str, str | May]) -> str:
    """An object with exactly these keys, of which at least one is always there; the value of each is a pattern."""
    text, needs_comma = "", False
    for key in sorted(members):
        value = members[key]
        member = f"{literal(json.dumps(key))}: {value.pattern if isinstance(value, May) else value}"
        if needs_comma:
            text += f"(?:, {member})?" if isinstance(value, May) else f", {member}"
        else:
            text += f"(?:{member}, )?" if isinstance(value, May) else member
            needs_comma = not isinstance(value, May)
    assert needs_comma or not members  # noqa: S101 - written by hand, below
    return rf"\{{{text}\}}"


def list_of(pattern: str) -> str:
    """A list, empty too, of values that match."""
    return rf"\[(?:{pattern}(?:, {pattern})*+)?\]"


def sequence(patterns: Iterable[str]) -> str:
    """A list of exactly these, in this order."""
    return rf"\[{', '.join(patterns)}\]"


def one_of(patterns: Iterable[str]) -> str:
    """Any of these."""
    several = tuple(dict.fromkeys(patterns))
    return several[0] if len(several) == 1 else f"(?:{'|'.join(several)})"


def exactly(value: Any) -> str:
    """This value and no other; keys without a value are left out, as clients of an engine do."""
    if isinstance(value, Mapping):
        return object_of({str(key): exactly(each) for key, each in value.items() if each is not None})
    if isinstance(value, list | tuple):
        return sequence(exactly(each) for each in value)
    return literal(json.dumps(value))


def quoted(pattern: str) -> str:
    """A string whose text matches; the pattern matches no quote and no backslash."""
    return f'"{pattern}"'


def starting(pattern: str) -> str:
    """A string that begins with what matches, and goes on in any way."""
    return f'"{pattern}{_PART}"'


def literal(text: str) -> str:
    """A pattern for this text. It has no apostrophe, which ends a word in HAProxy's configuration."""
    return re.escape(text).replace("'", r"\x27").replace(r"\ ", " ").replace(r"\-", "-")
