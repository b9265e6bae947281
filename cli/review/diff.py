"""The whole diff by resource, in the usual lines of a diff."""

from __future__ import annotations

import difflib
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, takewhile
from typing import Final

from cli import engine_values as values
from cli.engine_values import HIDDEN, NOTHING, Loc, elided, shown
from cli.review.stream import OURS, STACK, Step

_SIGNS_OF_OPS: Final = {"create": "+", "update": "~", "replace": "±", "delete": "-", "import": "="}
_LONGEST: Final = 200  # characters of one line of the diff
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
        yield (*(f"{sign} {part}" for part in head), *_lines(step, changed))


def _lines(step: Step, changed: Sequence[Difference]) -> Iterator[str]:
    hides = step.type.startswith("kubernetes:core/v1:Secret")
    made = (line for loc, old, new in changed for line in _difference(loc, old, new, hides=hides))
    lines = list(islice(made, _MOST_LINES + 1))
    if not lines and step.op not in {"create", "delete"}:
        lines = [f"  {elided(key, _LONGEST)}: differs {HIDDEN}" for key in step.keys[:_MOST_LINES]]
    yield from lines[:_MOST_LINES]
    if len(lines) > _MOST_LINES:
        yield "  … and more lines"


def _difference(loc: Loc, old: object, new: object, *, hides: bool) -> Iterator[str]:
    where = elided(values.place(loc), _LONGEST)
    if hides and loc[:1] and loc[0] in {"data", "stringData"}:
        yield f"  {where}: {HIDDEN}"
        return
    if all(map(_has_lines, (old, new))):
        yield f"  {where}:"
        yield from _texts(str(old), str(new), loc)
        return
    for sign, value, other in (("-", old, new), ("+", new, old)):
        parts: Iterable[object] = [] if value is NOTHING else [value]
        if isinstance(value, list | tuple) and isinstance(other, list | tuple):
            parts = (item for each, item in zip(value, _items(value), strict=True) if each not in other)
        yield from (f"{sign}   {where}: {shown(part, loc, longest=_LONGEST)}" for part in parts)


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
        yield f"  {HIDDEN}"
        return
    start = len([*takewhile(lambda pair: pair[0] == pair[1], zip(before, after, strict=False))])
    before, after = before[start:], after[start:]
    while before and after and before[-1] == after[-1]:
        before.pop()
        after.pop()
    compared = difflib.unified_diff(before[:_COMPARED], after[:_COMPARED], lineterm="", n=0)
    for line in islice(compared, 2, None):
        if not line.startswith("@@"):
            yield elided(f"{line[0]}     {line[1:]}", _LONGEST)
