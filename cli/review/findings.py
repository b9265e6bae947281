"""What the policies said: refused, undecided or advice; against the base branch: new, resolved or standing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from cli.review.stream import STACK, PolicyMessage, Stream
from cli.review.values import without_secrets

PACK: Final = "gpu-commons"
# Our messages, after the policy's own description: `P-HOST: profile ml of hub datahub: no pool can host it. Change …`
_OURS: Final = re.compile(
    r"(?:^|\n)(?P<rule>[A-Z]-[A-Z][A-Z0-9-]*): (?:(?P<about>[^:\n]+(?::[^\s:]+)*): )?(?P<text>.*)", re.DOTALL
)
# A rule that could not decide says so in one of these forms; the engine says it of values that are not known yet.
_UNDECIDED: Final = re.compile(
    r"\b(?:could not|cannot) be (?:proved|decided)\b|\b(?:is|are) not (?:known|proved)\b|\bdepends on\b"
    r"|\bmay or may not run\b|\bmay hold more\b|\bmay be in what was not read\b"
    r"|^can't run policy ",
    re.IGNORECASE,
)

_WAIVER: Final = re.compile(r"(?:no longer )?waived: ")  # the pack lists them; the comment does from the settings


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


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of a policy. `about` is the workload or the resource; `rule` is the policy of a foreign pack."""

    level: Level
    rule: str
    about: str
    text: str
    urn: str
    since: Since = Since.NOT_TOLD

    @property
    def key(self) -> tuple[str, str, str, str]:
        return (self.level, self.rule, self.urn, self.about)


def findings_of(stream: Stream) -> tuple[Finding, ...]:
    """Every finding once, worst first, by rule; those about the whole stack come after what may be their cause."""
    found = dict.fromkeys(finding for each in stream.messages if not _WAIVER.match((finding := _finding(each)).text))
    order = list(Level)

    def place(finding: Finding) -> tuple[int, bool, str, str, str]:
        about_all = f"::{STACK}::" in finding.urn
        return order.index(finding.level), about_all, finding.rule, finding.about, finding.text

    return tuple(sorted(found, key=place))


def _finding(message: PolicyMessage) -> Finding:
    said = message.message.strip()
    match = _OURS.search(said) if message.pack == PACK else None
    if match is None and message.pack == PACK:
        said = said.partition("\n")[2].strip() or said  # the policy's own description stands above it
    text = without_secrets((match["text"] if match else said).strip())
    level = Level.ADVICE
    if message.level == "mandatory":
        level = Level.REFUSED
    elif _UNDECIDED.search(text):
        level = Level.UNDECIDED
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


def _told(now: Iterable[Finding], there: Counter[tuple[str, str, str, str]]) -> Iterator[Finding]:
    for finding in now:
        is_there = there[finding.key] > 0
        there[finding.key] -= 1
        yield _with(finding, Since.STANDING if is_there else Since.NEW)


def _left(base: Iterable[Finding], now: Counter[tuple[str, str, str, str]]) -> Iterator[Finding]:
    for finding in base:
        if now[finding.key] > 0:
            now[finding.key] -= 1
        else:
            yield _with(finding, Since.RESOLVED)


def _with(finding: Finding, since: Since) -> Finding:
    return Finding(finding.level, finding.rule, finding.about, finding.text, finding.urn, since)
