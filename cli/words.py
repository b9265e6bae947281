"""The four verdicts for people: a sign, a word and a sentence, readable without colour."""

import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from compat import Answer, Severity, Verdict

Paint = Callable[[str, str], str]  # text and the name of a tone → text as the terminal shows it


@dataclass(frozen=True, slots=True)
class Sign:
    """How a verdict looks. `tone` names its colour, if there are colours."""

    symbol: str
    word: str
    meaning: str
    tone: str

    def __str__(self) -> str:
        return f"{self.symbol} {self.word}"


SIGNS: Final[Mapping[Verdict, Sign]] = MappingProxyType(
    {
        Verdict.COMPATIBLE: Sign("✓", "compatible", "It runs.", "good"),
        Verdict.WITH_WARNING: Sign(
            "!", "with warning", "It runs, with a limitation that you should know about.", "warn"
        ),
        Verdict.UNKNOWN: Sign(
            "?", "unknown", "It depends on something that is not known; the reason says what.", "open"
        ),
        Verdict.INCOMPATIBLE: Sign("✕", "incompatible", "It does not run; the reason says what to change.", "bad"),
    }
)
NO_GPU: Final = Sign("–", "no GPU use", "Nothing in the image uses a GPU: it runs anywhere.", "none")  # noqa: RUF001 - a dash on purpose
ALL_SIGNS: Final = (*SIGNS.values(), NO_GPU)
TONES: Final[Mapping[Severity, str]] = MappingProxyType(
    {Severity.NOTE: "good", Severity.WARN: "warn", Severity.UNKNOWN: "open", Severity.REFUSE: "bad"}
)


def plain(text: str, tone: str) -> str:  # noqa: ARG001 - a Paint that paints nothing
    """No colour."""
    return text


def source_and_date(source: str, date: str) -> str:
    """`https://…, read 2026-11-20`; empty if there is neither."""
    return ", read ".join(filter(None, (source, date)))


def counted(number: int, noun: str) -> str:
    """`1 image`, `2 images`."""
    return f"{number:,} {noun}" + ("" if number == 1 else "s")


def folded(text: str, first: str, later: str, width: int | None) -> list[str]:
    """Text folded at `width` columns (at least 40; None: one line), with a prefix for the first and for later lines."""
    if width is None:
        return [first + text]
    lines = textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=first,
        subsequent_indent=later,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines or [first]


def is_fine(answer: Answer) -> bool:
    """It runs, and there is nothing else to report."""
    return answer.verdict is Verdict.COMPATIBLE
