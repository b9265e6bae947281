"""Writes and reads the pack's reports, which Pulumi carries as text.

    RULE: SUBJECT: FIRST LINE              or: RULE: SUBJECT: could not be proved: FIRST LINE
      why: …                               lines below, each with its label
      finding/1 {"rule":…}                 the last line: the same for programs
    RULE: 40 places: SUBJECT, SUBJECT      the subjects that share one finding
      the same: FIRST LINE
      finding/1 {"rule":…,"subjects":[…]}

Programs read the last line and cut its known beginning off the first. They interpret no sentence.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from policies.finding import Finding, Level

NAMED: Final = 50  # subjects of a shared finding that programs get; a pull request comment shows each of them
_SHOWN: Final = 8  # those that people get
_MARK: Final = "\n  finding/1 "  # with the version of its keys
_AMOUNT: Final = re.compile(r"(?<![\w.-])\d[\d.,]*\s?(?:B|[kKMGT]i?B|s|min|minutes?|seconds?|hours?)\b")


@dataclass(frozen=True, slots=True)
class Message:
    """One finding about one subject. The same rule, level and body mean the same finding."""

    level: Level
    rule: str
    subject: str  # Deployment datahub/hub
    body: str  # the finding and its remedy
    finding: str  # short name of what is found; a summary of its subjects has it too
    question: str = ""  # short name of what could not be proved, whatever its amounts and the order of its words

    @property
    def shown(self) -> str:
        """The body, introduced if unproved."""
        return f"{_introduction(self.level)}{self.body}"

    @property
    def text(self) -> str:
        """For people."""
        return f"{self.rule}: {self.subject}: {self.shown}"

    @property
    def reported(self) -> str:
        """Pulumi's output, for people and programs."""
        data = {"rule": self.rule, "level": self.level, "subject": self.subject, "finding": self.finding}
        return _with_line(self.text, {**data, **({"question": self.question} if self.question else {})})


@dataclass(frozen=True, slots=True)
class Places:
    """One finding about several subjects, after the full report for the first."""

    level: Level
    rule: str
    subjects: tuple[str, ...]  # at most NAMED
    more: int  # number of the others
    finding: str  # as in the full report
    first_line: str

    @property
    def text(self) -> str:
        """For people, with a few of the subjects."""
        count = len(self.subjects) + self.more
        names = ", ".join(self.subjects[:_SHOWN]) + (f" and {count - _SHOWN} more" if count > _SHOWN else "")
        return f"{self.rule}: {count} places: {names}\n  the same: {_introduction(self.level)}{self.first_line}"

    @property
    def reported(self) -> str:
        """Pulumi's output, for people and programs."""
        data = {"rule": self.rule, "level": self.level, "subjects": self.subjects, "more": self.more}
        return _with_line(self.text, {**data, "finding": self.finding})


def message(rule: str, subject: str, finding: Finding, remedy: str = "") -> Message:
    """A finding about a subject, with its own remedy or else this one."""
    remedy, is_long = finding.remedy or remedy, "\n" in finding.message
    if finding.level is Level.UNPROVED or not remedy:
        body = f"{finding.message}{'' if is_long else '.'}"
    else:
        body = f"{finding.message}\n{line('change', remedy)}" if is_long else f"{finding.message}. {remedy}"
    body = body.strip()
    question = _question(body) if finding.level is Level.UNPROVED else ""
    name = _short(f"{rule} {finding.level} {body}")
    return Message(finding.level, rule, " ".join(subject.split()), body, name, question)


def line(label: str, text: str) -> str:
    """A line below the first one."""
    return f"  {label}: {text}"


def places(first: Message, subjects: Sequence[str]) -> Places:
    """Subjects that share this finding."""
    named = tuple(subjects[:NAMED])
    more = len(subjects) - len(named)
    return Places(first.level, first.rule, named, more, first.finding, first.body.partition("\n")[0])


def read(reported: str) -> Message | Places | None:
    """What the last line of a report says; None for other texts. Ignores what stands above the report."""
    text, data = _taken_apart(reported)
    match data:
        case {"rule": str(rule), "level": "refuse" | "warn" | "unproved" as level, "finding": str(name)}:
            pass
        case _:
            return None
    match data:
        case {"subjects": [*subjects], "more": int(more)}:
            places_ = Places(Level(level), rule, tuple(map(str, subjects)), more, name, "")
            return replace(places_, first_line=_after(places_.text, text))
        case {"subject": str(subject)}:
            message_ = Message(Level(level), rule, subject, "", name, str(data.get("question", "")))
            return replace(message_, body=_after(message_.text, text))
    return None


def for_people(reported: str) -> str:
    """A text of the pack without its line for programs."""
    return _taken_apart(reported)[0]


def _taken_apart(reported: str) -> tuple[str, Mapping[str, Any]]:
    """The text for people and the data; no data if the last line is not ours."""
    text, mark, last = reported.rstrip().rpartition(_MARK)
    try:
        data = json.loads(last)
    except (ValueError, RecursionError):
        return reported, {}
    return (text, data) if mark and isinstance(data, dict) else (reported, {})


def _with_line(text: str, data: Mapping[str, Any]) -> str:
    return f"{text}{_MARK}{json.dumps(data, ensure_ascii=False, separators=(',', ':'))}"


def _after(head: str, text: str) -> str:
    """What follows the known beginning of a report; all of it if something replaced that, as the engine may."""
    return text.partition(head)[2] or text


def _introduction(level: Level) -> str:
    return "could not be proved: " if level is Level.UNPROVED else ""


def _question(body: str) -> str:
    """The question and its reasons, but neither amounts nor the order of words: other branches have others."""
    first, *more = body.splitlines() or [""]
    why = [each for each in more if each.startswith(line("why", ""))]
    return _short(" ".join(sorted(re.split(r"[\s,;]+", _AMOUNT.sub("", " ".join((first, *why)))))))


def _short(text: str) -> str:
    return hashlib.blake2s(text.encode(errors="backslashreplace"), digest_size=4).hexdigest()


def image_subject(name: str) -> str:
    """Subject of a stack image's findings."""
    return f"image {name}"


Place = tuple[str, str]  # the subject and its resource's URN


@dataclass(frozen=True, slots=True)
class Repeated:
    """Findings of a run, by rule, level and body.

    The first place is reported at once, because a failing run never reaches its end.
    """

    _places: dict[tuple[str, Level, str], dict[Place, Message]] = field(default_factory=dict)  # in engine order

    def is_first(self, message: Message, urn: str) -> bool:
        """Whether this place is reported in full. Every place is recorded."""
        found = self._places.setdefault((message.rule, message.level, message.body), {})
        found[message.subject, urn] = message
        return next(iter(found)) == (message.subject, urn)

    def together(self) -> Iterator[Places]:
        """Each finding with several places, sorted: the engine's order differs from run to run."""
        for _, found in sorted(self._places.items()):
            if len(found) > 1:
                yield places(next(iter(found.values())), [subject for subject, _ in sorted(found)])
