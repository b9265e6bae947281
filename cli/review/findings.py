"""What the policies said: refused, undecided or advice; against the base branch: new, resolved or standing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import chain
from typing import Final

from cli.review.stream import STACK, PolicyMessage, Stream
from cli.review.values import has_unknown, without_secrets

PACK: Final = "gpu-commons"
# Our messages, after the policy's own description: `P-HOST: profile ml of hub datahub: no pool can host it. Change …`
_OUR_RULE: Final = re.compile(r"[A-Z]-[A-Z][A-Z0-9-]*")
_OURS: Final = re.compile(
    rf"(?:^|\n)(?P<rule>{_OUR_RULE.pattern}): (?:(?P<about>[^:\n]+(?::[^\s:]+)*): )?(?P<text>.*)", re.DOTALL
)
_UNPROVED: Final = "could not be proved: "  # what our pack begins the text with where a rule could not decide
_CANNOT_RUN: Final = "can't run policy "  # what the engine says of a policy that met a value that is not known yet
_PLACES: Final = re.compile(r"\d+ places")  # at the end of a run, of what was told of the first of them
_SAME: Final = "\n  the same: "  # what stands between the names of the places and what is told of all of them
_MORE: Final = re.compile(r" and (?P<more>\d+) more$")  # names that are not told
_AMOUNT: Final = re.compile(r"(?<![\w.-])\d[\d.,]*\s?(?:B|[kKMGT]i?B|s|min|minutes?|seconds?|hours?)\b")
_WAIVER: Final = "P-WAIVER"  # the pack lists what the site allows; the comment does from the settings


class Level(StrEnum):
    """How much a finding weighs, worst first."""

    REFUSED = "refused"
    UNDECIDED = "undecided"
    ADVICE = "advice"


class Since(StrEnum):
    """Whether the base branch has it too. Without the base branch nobody knows."""

    NEW = "new"
    STANDING = "standing"
    RESOLVED = "resolved"
    NOT_TOLD = ""


Key = tuple[str, str, str, str, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of a policy. `about` is the workload or the resource; `rule` is the policy of a foreign pack."""

    level: Level
    rule: str
    about: str
    text: str
    urn: str
    since: Since = Since.NOT_TOLD
    is_routine: bool = False  # open until the build of an image is done, as after every build

    @property
    def key(self) -> Key:
        """The same on two branches. One rule may leave several things open of one workload: these are told apart.

        Ours say themselves whom they are about, and of all places but the first that is all that is told.
        """
        open_ = _gist(self.text) if self.level is Level.UNDECIDED else ()
        return (self.level, self.rule, "" if _OUR_RULE.fullmatch(self.rule) else self.urn, self.about, open_)


def findings_of(stream: Stream) -> tuple[Finding, ...]:
    """Every finding once, worst first, by rule; those about the whole stack come after what may be their cause."""
    told = [finding for each in stream.messages if (finding := _finding(each)).rule != _WAIVER]
    found = dict.fromkeys(chain.from_iterable(_everywhere(finding, told) for finding in told))
    order = list(Level)

    def place(finding: Finding) -> tuple[int, bool, str, str, str]:
        about_all = f"::{STACK}::" in finding.urn
        return order.index(finding.level), about_all, finding.rule, finding.about, finding.text

    return tuple(sorted(found, key=place))


def _everywhere(finding: Finding, told: Sequence[Finding]) -> Iterator[Finding]:
    """A finding; and one that tells of many places what was told of the first: that, of each of them."""
    names, same, what = finding.text.partition(_SAME)
    firsts = [each for each in told if each.rule == finding.rule and each.text.startswith(what.removeprefix(_UNPROVED))]
    if not (same and _PLACES.fullmatch(finding.about) and firsts):
        yield finding
        return
    more = _MORE.search(names)
    unnamed = [f"a further place ({number})" for number in range(1, 1 + int(more["more"]))] if more else []
    for place in (*_MORE.sub("", names).split(", "), *unnamed):
        yield replace(firsts[0], about=place)


def _finding(message: PolicyMessage) -> Finding:
    said = message.message.strip()
    match = _OURS.search(said) if message.pack == PACK else None
    if match is None and message.pack == PACK and not said.startswith(_CANNOT_RUN):
        said = said.partition("\n")[2].strip() or said  # the policy's own description stands above it
    text = without_secrets((match["text"] if match else said).strip())
    level = Level.ADVICE
    if message.level == "mandatory":
        level = Level.REFUSED
    elif text.startswith((_UNPROVED, _CANNOT_RUN)):
        level, text = Level.UNDECIDED, text.removeprefix(_UNPROVED)
    name = message.urn.rpartition("::")[2]
    if match:
        return Finding(level, match["rule"], match["about"] or name, text, message.urn)
    return Finding(level, f"{message.pack} {message.policy}".strip(), name, text, message.urn)


def is_refusal(finding: Finding) -> bool:
    """The update would be stopped by it."""
    return finding.level is Level.REFUSED and finding.since is not Since.RESOLVED


def compared(now: Sequence[Finding], base: Sequence[Finding]) -> tuple[Finding, ...]:
    """The same findings, told from those of the base branch, and after them those that are resolved.

    One whose words alone differ (another size, another date) stands.
    """
    there = Counter(finding.key for finding in base)
    told = list(_told(now, there))
    return (*told, *_left(base, Counter(each.key for each in now)))


def _told(now: Iterable[Finding], there: Counter[Key]) -> Iterator[Finding]:
    for finding in now:
        is_there = there[finding.key] > 0
        there[finding.key] -= 1
        yield _with(finding, Since.STANDING if is_there else Since.NEW)


def _left(base: Iterable[Finding], now: Counter[Key]) -> Iterator[Finding]:
    for finding in base:
        if now[finding.key] > 0:
            now[finding.key] -= 1
        else:
            yield _with(finding, Since.RESOLVED)


def _with(finding: Finding, since: Since) -> Finding:
    return replace(finding, since=since)


# Rules that rest on the image as it was pushed: before the build nobody can decide them.
_OF_BUILT_IMAGES: Final = frozenset(
    {"P-PIN", "P-SIZE", "P-DISK", "P-START", "P-NODRIVER", "P-ONECUDA", "P-BASE", "P-ROOM"}
)


def with_routine(findings: Iterable[Finding], stream: Stream, builds: frozenset[str]) -> tuple[Finding, ...]:
    """The same, told apart: what is open for no other reason than that an image is built first.

    `builds`: types of the resources that build one. A finding of a workload whose values are all known is none of it.
    """
    is_building = any(step.type in builds for step in stream.changed)

    def waits(finding: Finding) -> bool:
        if finding.level is not Level.UNDECIDED or finding.rule not in _OF_BUILT_IMAGES or not is_building:
            return False
        step = stream.steps.get(finding.urn)
        return f"::{STACK}::" in finding.urn or (step is not None and has_unknown(step.new))

    return tuple(replace(each, is_routine=waits(each)) for each in findings)


def _gist(text: str) -> tuple[str, ...]:
    """What is open and why, without amounts, in an order of its own: names are listed in more orders than one."""
    first, *more = text.splitlines() or [""]
    why = [line for line in more if line.lstrip().startswith("why:")]
    return tuple(sorted(re.split(r"[\s,;]+", _AMOUNT.sub("", " ".join((first, *why))))))
