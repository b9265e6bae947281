"""Properties of one changed thing, before and after, in plain words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from cli.review import words
from cli.review.stream import Step
from cli.review.values import (
    NOTHING,
    Loc,
    differences,
    elided,
    is_hidden,
    leaves,
    names_of,
    shown,
    texts,
    words_without_secrets,
)

_MOST_DETAILS: Final = 8
_LONGEST: Final = 90
_MOST_CHARACTERS: Final = 1000
_DIGEST: Final = re.compile(r"(@sha256:[0-9a-f]{12})[0-9a-f]{52}")


@dataclass(frozen=True, slots=True)
class Detail:
    """One property. `before` is empty if added, `after` if removed."""

    label: str
    before: str
    after: str
    is_list: bool = False  # `before` leaves it and `after` joins it
    loc: Loc = field(default=(), compare=False)  # the input's path; empty if it is not a single input

    @property
    def key(self) -> str:
        """The last key of the input."""
        return next((step for step in reversed(self.loc) if isinstance(step, str)), "")


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changes. `op`: create, update, replace, delete."""

    kind: str  # course, pool, image, hub, job, site, policies, quota, runtime, component
    name: str
    op: str
    details: tuple[Detail, ...]


def members(label: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Detail]:
    """Items that leave a list or join it."""
    gone, come = [each for each in old if each not in set(new)], [each for each in new if each not in set(old)]
    if gone or come:
        yield Detail(label, names_of(gone), names_of(come), is_list=True)


def _items(label: str, old: Sequence[str], new: Sequence[str]) -> Iterator[Detail]:
    """The same for a list of possible command arguments: the value after `--password` stays hidden."""
    gone, come = (
        [clean for each, clean in zip(these, words_without_secrets(these), strict=True) if each not in set(those)]
        for these, those in ((old, new), (new, old))
    )
    if gone or come:
        yield Detail(label, names_of(gone), names_of(come), is_list=True)


def of_inputs(step: Step) -> Iterator[Detail]:
    """Inputs that differ; none if all of it comes or goes: there is nothing to compare."""
    if step.old is not None and step.new is not None:
        yield from details(step.old, step.new)


def details(old: Mapping[str, Any], new: Mapping[str, Any], at: Loc = ()) -> Iterator[Detail]:
    """The first few differences. `at`: path to both."""
    rows = list(_together(old, new, at))
    yield from rows[:_MOST_DETAILS]
    if len(rows) > _MOST_DETAILS:
        yield Detail("", "", f"{len(rows) - _MOST_DETAILS} more in the whole diff")


def _together(old: Mapping[str, Any], new: Mapping[str, Any], at: Loc) -> Iterator[Detail]:
    """Differences; an item added to or removed from a list, such as a profile, is one."""
    before, after = ({loc[:2] for loc, _ in leaves(side) if len(loc) > 2} for side in (old, new))
    whole: dict[Loc, list[str]] = {}
    for loc, left, right in differences(old, new):
        item = loc[:2]
        if len(loc) > 2 and (item in before) is not (item in after):
            value = right if left is NOTHING else left
            if value is False:  # missing keys of an item say little about it
                continue
            whole.setdefault(item, []).append(f"{words.label(loc[2:])}: {value_text(value, loc)}")
        else:
            yield from _one((*at, *loc), left, right)
    for item, parts in whole.items():
        line = ", ".join(word for word in parts if "sha256:" not in word and not word.startswith("name: "))
        loc = (*at, *item)
        yield Detail(words.label(loc), line if item in before else "", line if item in after else "", loc=loc)


def _one(loc: Loc, left: object, right: object) -> Iterator[Detail]:
    are_lists = isinstance(left, list | tuple) and isinstance(right, list | tuple) and not is_hidden(loc)
    if are_lists and (joined := list(_items(words.label(loc), texts(left), texts(right)))):
        yield from (replace(each, loc=loc) for each in joined)
        return
    yield Detail(words.label(loc), value_text(left, loc), value_text(right, loc), loc=loc)


def value_text(value: object, loc: Loc) -> str:
    """A value as a reader of the table sees it."""
    if value is NOTHING:
        return words.absent(loc)
    if not is_hidden(loc) and (wording := words.value(value, loc)) is not None:
        return wording
    return elided(_DIGEST.sub(r"\1…", shown(value, loc, longest=_MOST_CHARACTERS)).strip('"'), _LONGEST)


def word(value: object) -> str:
    """The same for a value standing alone."""
    return "" if value is None else value_text(value, ())


def joined(value: object) -> str:
    """Texts of a list."""
    return names_of(texts(value))
