"""Redacts possible secrets in texts: every message, comment and report passes through here.

Secrets are recognised by their names (names.py), by known forms of tokens (forms.py), on command lines, and all of that
in base64 (encoded.py). What has neither a telling name nor a known form is shown.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Final

from errors.redaction.assignments import assigned_spans
from errors.redaction.command_lines import bare_option_spans, command_spans
from errors.redaction.encoded import encoded_spans
from errors.redaction.forms import known_spans
from errors.redaction.written import Span

HIDDEN: Final = "(secret)"
_SHORTEST: Final = 3  # shorter texts have no recognisable form


def without_secrets(text: str, hidden: str = HIDDEN) -> str:
    """The text with placeholders for possible secrets."""
    return text if len(text) <= _SHORTEST else _hide(text, hidden)


def without_known_forms(text: str, hidden: str = HIDDEN) -> str:
    """The same by format only, without names."""
    return _replaced(text, known_spans(text), hidden)


def words_without_secrets(words: Sequence[str], hidden: str = HIDDEN) -> tuple[str, ...]:
    """Arguments of a command: hides what follows `--password`, and known cases such as `mysql … -px`."""
    line, starts = " ".join(words), []
    position = 0
    for word in words:
        starts.append(position)
        position += len(word) + 1
    spans = [*assigned_spans(line), *command_spans(line), *bare_option_spans(line)]
    shown = []
    for word, start in zip(words, starts, strict=True):
        end = start + len(word)
        # A span that begins where a word does covers all of it; one that begins earlier belongs to another word.
        mine = [
            (first - start, (end if first == start else min(last, end)) - start)
            for first, last in spans
            if start <= first < end
        ]
        shown.append(_replaced(word, [*mine, *_all_spans(word)], hidden))
    return tuple(shown)


@lru_cache(maxsize=4096)
def _hide(text: str, hidden: str) -> str:
    return _replaced(text, _all_spans(text), hidden)


def _all_spans(text: str) -> Iterator[Span]:
    yield from _plain_spans(text)
    yield from encoded_spans(text, _plain_spans)


def _plain_spans(text: str) -> Iterator[Span]:
    yield from known_spans(text)
    yield from assigned_spans(text)
    yield from command_spans(text)


def _replaced(text: str, spans: Iterable[Span], hidden: str) -> str:
    parts: list[str] = []
    end = 0
    for first, last in sorted(spans):
        if last <= end or first == last:
            continue
        if first > end or not parts:
            parts += [text[end:first], hidden]
        end = last
    return "".join([*parts, text[end:]]) if parts else text
