"""JSON texts as regular expressions (PCRE and Python): only listed forms match. Pure.

A filter that parses JSON must parse it like the receiver, and receivers differ: Go accepts `"PRIVILEGED"` as
`"Privileged"`, and takes the last of duplicate keys, or a mixture. So these patterns match the text itself,
as `json.dumps(value, sort_keys=True)` writes it: each key letter for letter, once, in order, in ASCII. A matching
text has the same value for every parser.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

_PART: Final = r'(?:[ !#-\[\]-~]|\\["\\/bfnrt]|\\u[0-9a-f]{4})*+'  # inside a string: no bare quote or backslash
TEXT: Final = rf'"{_PART}"'


@dataclass(frozen=True, slots=True)
class May:
    """An optional value with its key."""

    pattern: str


def object_of(members: Mapping[str, str | May]) -> str:
    """An object with exactly these keys, at least one of them mandatory; each value is a pattern."""
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
    """A list of matching values, or empty."""
    return rf"\[(?:{pattern}(?:, {pattern})*+)?\]"


def sequence(patterns: Iterable[str]) -> str:
    """A list of exactly these in order."""
    return rf"\[{', '.join(patterns)}\]"


def one_of(patterns: Iterable[str]) -> str:
    """Any of these."""
    several = tuple(dict.fromkeys(patterns))
    return several[0] if len(several) == 1 else f"(?:{'|'.join(several)})"


def exactly(value: Any) -> str:
    """Exactly this value; keys without a value are left out, as engine clients do."""
    if isinstance(value, Mapping):
        return object_of({str(key): exactly(each) for key, each in value.items() if each is not None})
    if isinstance(value, list | tuple):
        return sequence(exactly(each) for each in value)
    return literal(json.dumps(value))


def quoted(pattern: str) -> str:
    """A string with matching text; the pattern matches no quote and no backslash."""
    return f'"{pattern}"'


def starting(pattern: str) -> str:
    """A string with a matching prefix."""
    return f'"{pattern}{_PART}"'


def literal(text: str) -> str:
    """A pattern for this text. It has no apostrophe, which ends a word in HAProxy configuration."""
    return re.escape(text).replace("'", r"\x27").replace(r"\ ", " ").replace(r"\-", "-")
