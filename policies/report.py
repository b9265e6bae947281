"""Formats and parses the pack's reports, which Pulumi carries as text.

    RULE: SUBJECT: FIRST LINE              or: RULE: SUBJECT: could not be proved: FIRST LINE
      why: …                               lines below, each with its label
    RULE: 40 places: SUBJECT, SUBJECT      the subjects that share one finding
      the same: FIRST LINE

Pulumi passes text from the pack to readers of its events, so both use this module.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from policies.finding import Finding, Level

NAMED: Final = 50  # listed subjects; a pull request comment shows each of them
_NOT_PROVED: Final = "could not be proved: "
_SAME: Final = "\n  the same: "
_RULE: Final = r"[A-Z]-[A-Z][A-Z0-9-]*"
_MESSAGE: Final = re.compile(rf"(?:^|\n)(?P<rule>{_RULE}): (?P<subject>[^\n]*?): (?P<body>.*)", re.DOTALL)
_PLACES: Final = re.compile(r"(?P<count>\d+) places")
_MORE: Final = re.compile(r" and \d+ more$")
_AMOUNT: Final = re.compile(r"(?<![\w.-])\d[\d.,]*\s?(?:B|[kKMGT]i?B|s|min|minutes?|seconds?|hours?)\b")


@dataclass(frozen=True, slots=True)
class Message:
    """One finding about one subject. The same rule, level and body mean the same finding."""

    level: Level
    rule: str
    subject: str  # Deployment datahub/hub
    body: str  # the finding and its remedy

    @property
    def shown(self) -> str:
        """The body, introduced if unproved."""
        return f"{_NOT_PROVED if self.level is Level.UNPROVED else ''}{self.body}"

    @property
    def text(self) -> str:
        """Pulumi's output."""
        return f"{self.rule}: {self.subject}: {self.shown}"


@dataclass(frozen=True, slots=True)
class Places:
    """One finding about several subjects, after the full report for the first."""

    rule: str
    is_unproved: bool
    subjects: tuple[str, ...]  # listed subjects
    more: int  # number of unlisted ones
    first_line: str

    @property
    def text(self) -> str:
        """Pulumi's output."""
        names = ", ".join(self.subjects) + (f" and {self.more} more" if self.more else "")
        shown = f"{_NOT_PROVED if self.is_unproved else ''}{self.first_line}"
        return f"{self.rule}: {len(self.subjects) + self.more} places: {names}{_SAME}{shown}"

    def repeats(self, message: Message) -> bool:
        """Whether that message has the full finding."""
        is_unproved = message.level is Level.UNPROVED
        is_same = (message.rule, is_unproved) == (self.rule, self.is_unproved)
        return is_same and message.body.startswith(self.first_line)


def message(rule: str, subject: str, finding: Finding, remedy: str = "") -> Message:
    """A finding about a subject, with its own remedy or else this one."""
    remedy, is_long = finding.remedy or remedy, "\n" in finding.message
    if finding.level is Level.UNPROVED or not remedy:
        body = f"{finding.message}{'' if is_long else '.'}"
    else:
        body = f"{finding.message}\n{line('change', remedy)}" if is_long else f"{finding.message}. {remedy}"
    # A name containing the separators of a message would be parsed as two parts.
    subject = " ".join(re.sub(r"([:,])\s+", r"\1", subject).split())
    return Message(finding.level, rule, subject, body.strip())


def line(label: str, text: str) -> str:
    """A line below the first one."""
    return f"  {label}: {text}"


def places(first: Message, subjects: Sequence[str]) -> Places:
    """Subjects that share this finding."""
    first_line = first.body.splitlines()[0]
    named = tuple(subjects[:NAMED])
    return Places(first.rule, first.level is Level.UNPROVED, named, len(subjects) - len(named), first_line)


def read(text: str, *, is_refused: bool) -> Message | Places | None:
    """Parses one text of the pack; None for other texts. Lines above the report are skipped.

    `is_refused` comes from the engine, separately: the refusing policy sent it.
    """
    if (match := _MESSAGE.search(text.strip())) is None:
        return None
    rule, subject, body = match["rule"], match["subject"], match["body"]
    if (count := _PLACES.fullmatch(subject)) and _SAME in body:
        names, _, first_line = body.partition(_SAME)
        subjects = tuple(names.split(", "))
        if more := int(count["count"]) - len(subjects):
            subjects = (*subjects[:-1], _MORE.sub("", subjects[-1]))
        return Places(rule, first_line.startswith(_NOT_PROVED), subjects, more, first_line.removeprefix(_NOT_PROVED))
    level = Level.REFUSE if is_refused else Level.UNPROVED if body.startswith(_NOT_PROVED) else Level.WARN
    return Message(level, rule, subject, body.removeprefix(_NOT_PROVED) if level is Level.UNPROVED else body)


def question(body: str) -> tuple[str, ...]:
    """The unproved question and its reasons as sorted words without amounts, for comparing branches."""
    first, *more = body.splitlines() or [""]
    why = [each for each in more if each.startswith(line("why", ""))]
    return tuple(sorted(re.split(r"[\s,;]+", _AMOUNT.sub("", " ".join((first, *why))))))


def image_subject(name: str) -> str:
    """Subject of a stack image's findings."""
    return f"image {name}"
