"""What differs in plain words, `start time-out: 10 min` for `start_timeout_s: 600`, and the whole diff."""

import difflib
import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, Final

from cli import engine_values as values
from cli.engine_events import OURS, STACK, Step
from cli.engine_values import NOTHING, Loc, elided, grouped, names_of, texts
from cli.review.commons import Workload
from compat.facts import csv_files

_MOST_DETAILS: Final = 8
_LONGEST: Final = 90
_MOST_CHARACTERS: Final = 1000
_DIGEST: Final = re.compile(r"(@sha256:[0-9a-f]{12})[0-9a-f]{52}")
_UNITS: Final = {"_mb_per_s": " MB/s", "_gib": " GiB", "_gb": " GB", "_mb": " MB"}
# Sections whose keys need no context.
_TRANSPARENT: Final = frozenset({"cull", "image_limits", "policies", "site", "storage", "fleet", "facts"})


@dataclass(frozen=True, slots=True)
class Detail:
    """One property. `before` is empty if added, `after` if removed."""

    label: str
    before: str
    after: str
    is_list: bool = False  # `before` leaves it and `after` joins it
    loc: Loc = field(default=(), compare=False)  # the input's path; empty if it is not a single input


@dataclass(frozen=True, slots=True)
class Affected:
    """People and work behind one change. Empty if the stack names nobody."""

    own_pods: tuple[str, ...] = ()  # hubs whose hub or proxy pod changes
    profiles: tuple[Workload, ...] = ()
    courses: tuple[str, ...] = ()
    seats: int = 0
    jobs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Change:
    """One thing that changes. `op`: create, update, replace, delete."""

    kind: str  # course, pool, image, hub, job, site, policies, quota, runtime, component
    name: str
    op: str
    details: tuple[Detail, ...]
    affected: Affected = Affected()


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
    return {row["key"]: row for row in csv_files.rows("keys", Path(__file__).parent)}


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


# --- the whole diff

_SIGNS_OF_OPS: Final = {"create": "+", "update": "~", "replace": "±", "delete": "-", "import": "="}
_LONGEST_LINE: Final = 200  # characters of one line of the diff
_WRAP: Final = 110  # columns for resource names
_COMPARED: Final = 300  # differing lines of a text
_MOST_LINES: Final = 40  # lines per resource
Difference = tuple[Loc, object, object]


def diff_groups(steps: Sequence[Step]) -> Iterator[tuple[str, ...]]:
    """Lines of the diff, our components first; resources of one type with equal changes share theirs.

    Built on demand: most lines of a big change are never shown.
    """
    groups: dict[tuple[str, str, bytes], tuple[list[str], list[Difference], Step]] = {}
    for step in sorted(steps, key=lambda step: not step.type.startswith(OURS)):
        if step.type == STACK and step.op in {"create", "delete"}:
            continue
        # The name of an added or removed resource is enough: a reviewer reads new values in the code.
        is_compared = step.op not in {"create", "delete"} and step.old is not None and step.new is not None
        changed = list(values.differences(step.old, step.new)) if is_compared else []
        key = (step.op, step.type, repr(changed).encode() if changed else repr(step.keys).encode())
        groups.setdefault(key, ([], changed, step))[0].append(step.name)
    for names, changed, step in groups.values():
        sign = _SIGNS_OF_OPS.get(step.op, "~")
        head = textwrap.wrap(f"{step.type} {', '.join(names)}", _WRAP, subsequent_indent="    ")
        yield (*(f"{sign} {part}" for part in head), *_diff_lines(step, changed))


def _diff_lines(step: Step, changed: Sequence[Difference]) -> Iterator[str]:
    hides = step.type.startswith("kubernetes:core/v1:Secret")
    made = (line for loc, old, new in changed for line in _difference(loc, old, new, hides=hides))
    lines = list(islice(made, _MOST_LINES + 1))
    if not lines and step.op not in {"create", "delete"}:
        lines = [f"  {elided(key, _LONGEST_LINE)}: differs {values.HIDDEN}" for key in step.keys[:_MOST_LINES]]
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield "  … and more lines"


def _difference(loc: Loc, old: object, new: object, *, hides: bool) -> Iterator[str]:
    where = elided(values.place(loc), _LONGEST_LINE)
    if hides and loc[:1] and loc[0] in {"data", "stringData"}:
        yield f"  {where}: {values.HIDDEN}"
        return
    if all(map(_has_lines, (old, new))):
        yield f"  {where}:"
        yield from _texts(str(old), str(new), loc)
        return
    for sign, value, other in (("-", old, new), ("+", new, old)):
        parts: Iterable[object] = [] if value is NOTHING else [value]
        if isinstance(value, list | tuple) and isinstance(other, list | tuple):
            parts = (item for each, item in zip(value, _items(value), strict=True) if each not in other)
        yield from (f"{sign}   {where}: {values.shown(part, loc, longest=_LONGEST_LINE)}" for part in parts)


def _items(listed: Sequence[object]) -> Sequence[object]:
    """Items of a list. Texts may be arguments and lose their secrets: `-p` marks the next one as a secret."""
    words = [each for each in listed if isinstance(each, str)]
    return values.words_without_secrets(words) if len(words) == len(listed) else listed


def _has_lines(value: object) -> bool:
    return isinstance(value, str) and "\n" in value and len(value) <= values.LONGEST_TEXT


def _texts(old: str, new: str, loc: Loc) -> Iterator[str]:
    """Lines that differ between two texts. Common starts and ends cost nothing."""
    before, after = values.without_secrets(old).splitlines(), values.without_secrets(new).splitlines()
    if values.is_hidden(loc) or before == after:
        yield f"  {values.HIDDEN}"
        return
    start = len([*takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))])
    before, after = before[start:], after[start:]
    while before and after and before[-1] == after[-1]:
        before.pop()
        after.pop()
    compared = difflib.unified_diff(before[:_COMPARED], after[:_COMPARED], lineterm="", n=0)
    for line in islice(compared, 2, None):
        if not line.startswith("@@"):
            yield elided(f"{line[0]}     {line[1:]}", _LONGEST_LINE)
