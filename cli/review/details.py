"""Properties of one changed thing in plain words: `start_timeout_s: 600` is `start time-out: 10 min`."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

from cli import engine_values as values
from cli.engine_values import NOTHING, Loc, elided, grouped, names_of, texts

_MOST_DETAILS: Final = 8
_LONGEST: Final = 90
_MOST_CHARACTERS: Final = 1000
_DIGEST: Final = re.compile(r"(@sha256:[0-9a-f]{12})[0-9a-f]{52}")
_UNITS: Final = {"_mb_per_s": " MB/s", "_gib": " GiB", "_gb": " GB", "_mb": " MB"}
# Sections whose keys need no context.
_TRANSPARENT: Final = frozenset({"cull", "image_limits", "policies", "site", "fleet", "facts"})


@dataclass(frozen=True, slots=True)
class Detail:
    """One property. `before` is empty if added, `after` if removed."""

    label: str
    before: str
    after: str
    is_list: bool = False  # `before` leaves it and `after` joins it
    loc: Loc = field(default=(), compare=False)  # the input's path; empty if it is not a single input


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changes. `op`: create, update, replace, delete."""

    kind: str  # course, pool, image, hub, job, site, policies, quota, runtime, component
    name: str
    op: str
    details: tuple[Detail, ...]


def last_key(loc: Loc) -> str:
    """The key of a value, without list positions."""
    return next((step for step in reversed(loc) if isinstance(step, str)), "")


def comes_or_goes(line: str, *, comes: bool) -> Detail:
    """The detail if all of it comes or goes."""
    return Detail("", "" if comes else line, line if comes else "")


def members(label: str, old: Sequence[str], new: Sequence[str], loc: Loc = ()) -> Iterator[Detail]:
    """Items that leave a list or join it. They may be a command's arguments: what follows `--password` is hidden."""
    gone, come = (
        names_of(
            [clean for each, clean in zip(these, values.words_without_secrets(these), strict=True) if each not in those]
        )
        for these, those in ((old, {*new}), (new, {*old}))
    )
    if gone or come:
        yield Detail(label, gone, come, is_list=True, loc=loc)


def details(old: Mapping[str, Any], new: Mapping[str, Any], at: Loc = ()) -> Iterator[Detail]:
    """The first few differences. `at`: path to both."""
    rows = list(_together(old, new, at))
    yield from rows[:_MOST_DETAILS]
    if len(rows) > _MOST_DETAILS:
        yield Detail("", "", f"{len(rows) - _MOST_DETAILS} more in the whole diff")


def _together(old: Mapping[str, Any], new: Mapping[str, Any], at: Loc) -> Iterator[Detail]:
    """Differences; an item added to or removed from a list, such as a profile, is one."""
    before, after = ({loc[:2] for loc, _ in values.leaves(side) if len(loc) > 2} for side in (old, new))
    items: list[tuple[Loc, str]] = []
    for loc, left, right in values.differences(old, new):
        if len(loc) <= 2 or (loc[:2] in before) is (loc[:2] in after):
            yield from _one((*at, *loc), left, right)
        elif (value := right if left is NOTHING else left) is not False:  # it says little about a whole item
            items.append((loc[:2], f"{label_of(loc[2:])}: {value_text(value, loc)}"))
    for item, parts in grouped(items).items():
        line = ", ".join(word for word in parts if "sha256:" not in word and not word.startswith("name: "))
        loc = (*at, *item)
        yield Detail(label_of(loc), line if item in before else "", line if item in after else "", loc=loc)


def _one(loc: Loc, left: object, right: object) -> Iterable[Detail]:
    are_lists = isinstance(left, list | tuple) and isinstance(right, list | tuple) and not values.is_hidden(loc)
    joined = [*members(label_of(loc), texts(left), texts(right), loc)] if are_lists else []
    return joined or [Detail(label_of(loc), value_text(left, loc), value_text(right, loc), loc=loc)]


# --- words


@cache
def _keys() -> Mapping[str, Mapping[str, str]]:
    """Keys that need other words, for all or for an item of it, and meanings of a missing or zero value."""
    with Path(__file__).with_name("keys.csv").open(newline="", encoding="utf-8") as file:
        return {row["key"]: row for row in csv.DictReader(file)}


def _words_of(key: str, column: str) -> str:
    return _keys()[key][column] if key in _keys() else ""


def label_of(loc: Loc) -> str:
    """`profile ml, memory` of `profiles.ml.memory_gib`."""
    steps = [step for step in loc if step not in _TRANSPARENT] or list(loc)
    parts: list[str] = []
    while steps:
        step, *steps = steps
        if steps and (item := _words_of(str(step), "of_an_item")):
            name, *steps = steps
            parts.append(f"{item} {name if isinstance(name, str) else name + 1}")
        else:
            parts.append(_key_words(step) if isinstance(step, str) else values.place((step,)))
    return ", ".join(parts)


def _key_words(key: str) -> str:
    """Most keys only lose their unit and underscores."""
    if words := _words_of(key, "words"):
        return words
    if not key.replace("_", "").isalnum():
        return key
    unit = next((unit for unit in (*_UNITS, "_s") if key.endswith(unit)), "")
    return key.removesuffix(unit).replace("_", " ")


def value_text(value: object, loc: Loc) -> str:
    """A value as a reader of the table sees it. A missing one may have a meaning too."""
    if value is NOTHING:
        return _words_of(str(loc[-1]), "if_missing") if loc else ""
    if not values.is_hidden(loc) and (words := _value_words(value, last_key(loc))) is not None:
        return words
    return elided(_DIGEST.sub(r"\1…", values.shown(value, loc, longest=_MOST_CHARACTERS)).strip('"'), _LONGEST)


def word(value: object) -> str:
    """The same for a value standing alone."""
    return "" if value is None else value_text(value, ())


def _value_words(value: object, key: str) -> str | None:
    """A number with its unit, a claim as yes or no; None: the value as it is."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float) or value != value or abs(value) > 2**53:  # noqa: PLR0124 - not a number
        return None
    if value == 0 and (meaning := _words_of(key, "if_zero")):
        return meaning
    if key.endswith("_share"):
        return f"{round(value * 100, 2):g}%"
    unit = next((unit for end, unit in _UNITS.items() if key.endswith(end)), "")
    return f"{value:,g}{unit}" if unit else duration(value) if key.endswith("_s") else None


def duration(seconds: float) -> str:
    """`10 min`, `1 h 30 min`, `90 s`."""
    if seconds < 60 or seconds % 60:
        return f"{seconds:g} s"
    hours, minutes = divmod(int(seconds) // 60, 60)
    return " ".join(filter(None, (f"{hours} h" if hours else "", f"{minutes} min" if minutes else "")))
