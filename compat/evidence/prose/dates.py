"""Releases by date: `latest wheel of November 2025` is the one that was newest then, or came out in that month."""

from __future__ import annotations

import re
from functools import lru_cache

from packaging.version import Version

from compat.evidence.prose.patterns import pattern
from compat.facts import tables

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMED = pattern(
    r"\b(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
    r"(?:uary|ruary|ch|il|e|y|ust|t|tember|ober|ember)?\.? (20\d\d)\b",
    re.ASCII,
)
_NUMBERED = pattern(r"\b(20\d\d)-(0[1-9]|1[0-2])(?:-\d\d)?\b", re.ASCII)
# An environment of another project has the releases that it pins, whenever somebody set it up.
_NO_RELEASE = pattern(
    r"\b(?:dev|development|master|main|branch|pull request|source|compiled"
    r"|environment of|requirements|setup\.sh|pinned|pins)\b"
)
_NIGHTLY = pattern(r"\bnightl(?:y|ies)\b")


def is_nightly(text: str) -> bool:
    """Is it a build of the day, between two releases?"""
    return _NIGHTLY.search(text.lower()) is not None


@lru_cache(1024)
def month_in(text: str) -> str:
    """`2025-11` of a text that names one month; empty where it names none, more than one, or no release."""
    plain = text.lower()
    if _NO_RELEASE.search(plain):
        return ""
    found = {f"{year}-{_MONTHS.index(month) + 1:02}" for month, year in _NAMED.findall(plain)}
    found |= {f"{year}-{month}" for year, month in _NUMBERED.findall(plain)}
    return found.pop() if len(found) == 1 else ""


@lru_cache(1024)
def released_by(framework: str, month: str, *, and_next: bool = False) -> tuple[Version, ...]:
    """The newest release before a month and those of the month; none where the table does not reach so far back.

    With `and_next`, which is for builds between releases, the next one after the month too.
    """
    rows = tables.release_dates().get(framework, ())
    before = [row.version for row in rows if row.day < month]
    within = [row.version for row in rows if row.day[:7] == month]
    after = [row.version for row in rows if row.day[:7] > month] if and_next else []
    return (*((max(before),) if before else ()), *within, *((min(after),) if after else ()))
