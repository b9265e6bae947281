"""A user's mistakes as values: place, given value, reason, and what to change."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import groupby
from typing import Final

from errors import UserError
from errors.redaction.names import is_secret
from errors.redaction.texts import without_secrets

Loc = tuple[str | int, ...]  # ("fleet", "pools", 2, "driver")

NOT_GIVEN: Final = object()
HIDDEN: Final = object()  # a value that exists and may be a secret
# Settings with arbitrary values.
_MAY_HOLD_ONE = re.compile(r"private|salt|command|kubeconfig|^env$", re.IGNORECASE)
_LONGEST = 60
_LONGEST_READ = 10_000
_MOST_PROBLEMS: Final = 50  # shown to people; the rest is counted
# User and password before the host of an address, image or registry. A digest is not a host.
_USER_OF_ADDRESS = re.compile(r"://.*@(?!sha256:)", re.DOTALL)
_USER_OF_IMAGE = re.compile(r"[^\s@\"]*:[^\s@\"]*@(?!sha256:)|[^\s@/:\"]+@(?=[^\s@/]+/)")
_QUERY = re.compile(r"(?P<key>[?&](?P<name>[^=&#\s]+)=)[^&#\s\"]+")
# Control characters, unpaired surrogates and direction marks: they would change what a reader sees.
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Fault:
    """One mistake in plain data, not yet tied to a file. `value` is what was written there, if anything."""

    loc: Loc
    reason: str  # follows the value: is not a driver version such as 418.88
    fix: str
    value: object = NOT_GIVEN


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake as a person reads it. `value` is shortened and never a secret; empty if nothing was written."""

    path: str  # as the user wrote it: fleet.pools[2].driver
    value: str
    reason: str
    fix: str
    file: str = ""
    line: int | None = None

    def __str__(self) -> str:
        what = f"{self.value} {self.reason}" if self.value else self.reason
        where = f" (line {self.line})" if self.line else ""
        return f"{self.path}: {what}{where}\n    {self.fix}"


class SettingsError(UserError):
    """All mistakes of a stack's settings."""

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__(self._text())

    def _text(self) -> str:
        parts = []
        for file, group in groupby(self.problems, key=lambda problem: problem.file):
            found = list(group)
            count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
            parts.append("\n".join([f"{file or 'settings'}: {count}", *(f"  {each}" for each in first_ones(found))]))
        return "\n".join(parts)


def first_ones(problems: Sequence[Problem]) -> list[str]:
    """The first 50 as text, then the number of others."""
    more = len(problems) - _MOST_PROBLEMS
    return [*map(str, problems[:_MOST_PROBLEMS]), *([f"… and {more} more"] if more > 0 else [])]


def path_text(loc: Loc) -> str:
    """`fleet.pools[2].driver`; a key with dots or slashes goes in brackets."""
    text = ""
    for step in loc:
        if isinstance(step, int):
            text += f"[{step}]"
        elif re.fullmatch(r"[\w-]+", step, re.ASCII):
            text += f".{step}" if text else step
        else:
            text += f"[{visible(json.dumps(step, ensure_ascii=False))}]"
    return text


def unshown(value: object) -> object:
    """How to show a value instead of a mapping or list: a plain value may be anything, even a password."""
    is_plain = isinstance(value, str) or not isinstance(value, Mapping | Sequence)
    return HIDDEN if is_plain and value is not None else value


def is_secretive(loc: Loc) -> bool:
    """Does the name of this setting suggest a secret, or something that may hold one?"""
    return any(isinstance(step, str) and (is_secret(step) or _MAY_HOLD_ONE.search(step)) for step in loc)


def has_password(text: str) -> bool:
    """Does an address, image or registry contain a user, a password, or a secret in its query?"""
    return without_passwords(text) != text


def without_passwords(text: str) -> str:
    """The text with `…` for possible passwords in addresses, images or registries; hides too much if in doubt."""
    text = _USER_OF_ADDRESS.sub("://…@", text)
    text = _USER_OF_IMAGE.sub("…@", text) if "://" not in text else text
    return _QUERY.sub(lambda found: f"{found['key']}…" if is_secret(found["name"]) else found[0], text)


def _hidden(text: str) -> str:
    return without_passwords(without_secrets(text, "…"))


def visible(text: str) -> str:
    """The text with control characters and surrogates escaped: a terminal would act on them."""
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def show(value: object, loc: Loc = ()) -> str:
    """One short line for a value: strings quoted, collections counted, possible secrets hidden."""
    if value is NOT_GIVEN:
        return ""
    if isinstance(value, Mapping):
        return "a mapping"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return f"a list of {len(value)}"
    if value is HIDDEN or is_secretive(loc) or (isinstance(value, str) and "PRIVATE KEY" in value):
        return "the value (not shown)"
    if value is None:
        return "null"
    if isinstance(value, str):
        value = _hidden(value[:_LONGEST_READ])
        value = value if len(value) <= _LONGEST else value[: _LONGEST - 1] + "…"
    return visible(json.dumps(value, ensure_ascii=False, default=str))


def nearest(word: object, known: Iterable[str], *, what: str) -> str:
    """Advice for an unknown name: the likely ones of `known`, then all of them if they are few."""
    choices = sorted(set(known))
    if not choices:
        return f"there is no {what} yet: add one"
    by_lower = {choice.lower(): choice for choice in choices}
    close = get_close_matches(str(word).lower(), by_lower, n=2, cutoff=0.6)
    likely = f"did you mean {' or '.join(_hidden(by_lower[match]) for match in close)}? " if close else ""
    return f"{likely}known {what}s: {listing(choices, most=12)}"


def listing(names: Sequence[str], *, most: int = 4) -> str:
    """`n09, n10`; more than `most` end in `and 3 more`. A name may be one that is refused, with a secret in it."""
    shown = ", ".join(map(_hidden, names[:most]))
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
