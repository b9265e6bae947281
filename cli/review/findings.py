"""Policy findings: refused, undecided or advice; compared with the base branch: new, resolved, standing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from cli.review.stream import STACK, PolicyMessage, Stream
from cli.review.values import has_unknown, without_secrets
from policies import report
from policies.finding import Level as Weight

PACK: Final = "gpu-commons"
_WAIVER: Final = "P-WAIVER"  # the pack lists the site's waivers; the comment takes them from the settings


class Level(StrEnum):
    """Severity of a finding, worst first."""

    REFUSED = "refused"
    UNDECIDED = "undecided"
    ADVICE = "advice"


class Since(StrEnum):
    """Whether the base branch has it too; unknown without one."""

    NEW = "new"
    STANDING = "standing"
    RESOLVED = "resolved"
    NOT_COMPARED = ""


Key = tuple[str, str, str, str, str]


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of a policy. `about` is the workload or the resource; `rule` is a foreign pack's policy."""

    level: Level
    rule: str
    about: str
    text: str
    urn: str
    since: Since = Since.NOT_COMPARED
    is_routine: bool = False  # open until the image is built, as in every build
    is_ours: bool = field(default=True, compare=False)
    question: str = field(default="", compare=False)  # what is undecided: one rule may leave several questions open

    @property
    def key(self) -> Key:
        """Equal on two branches. Our findings name their subject; all places but the first report only that."""
        question = self.question if self.level is Level.UNDECIDED else ""
        return (self.level, self.rule, "" if self.is_ours else self.urn, self.about, question)


def findings_of(stream: Stream) -> tuple[Finding, ...]:
    """Every finding once, worst first, by rule; those about the whole stack follow their possible causes."""
    findings: list[Finding] = []
    in_full: dict[str, Finding] = {}  # by the pack's name of a finding
    summaries: list[tuple[report.Places, PolicyMessage]] = []
    for each in stream.messages:
        told = report.read(each.message) if each.pack == PACK else None
        if told is None:
            findings.append(_foreign(each))
        elif isinstance(told, report.Places):
            summaries.append((told, each))
        else:
            finding = _ours(told, each)
            in_full.setdefault(told.finding, finding)
            findings += [finding] if told.rule != _WAIVER else []
    for places, each in summaries:
        findings += _everywhere(places, in_full.get(places.finding), each)
    order = list(Level)

    def place(each: Finding) -> tuple[int, bool, str, str, str]:
        about_all = f"::{STACK}::" in each.urn
        return order.index(each.level), about_all, each.rule, each.about, each.text

    return tuple(sorted(dict.fromkeys(findings), key=place))


_LEVELS: Final = {
    Weight.REFUSE: Level.REFUSED,
    Weight.UNPROVED: Level.UNDECIDED,
    Weight.WARN: Level.ADVICE,
}


def _ours(told: report.Message, message: PolicyMessage) -> Finding:
    """The engine's level counts: a site may make advice mandatory, or a refusal advice."""
    if message.level == "mandatory":
        level = Level.REFUSED
    else:
        level = Level.UNDECIDED if told.level is Weight.UNPROVED else Level.ADVICE
    text = told.body if level is Level.UNDECIDED else told.shown
    return Finding(level, told.rule, told.subject, without_secrets(text), message.urn, question=told.question)


def _everywhere(places: report.Places, first: Finding | None, message: PolicyMessage) -> Iterator[Finding]:
    """The finding at each place; the pack reports it in full only at the first."""
    if first is None:  # the stream lost it
        first = Finding(_LEVELS[places.level], places.rule, "", without_secrets(places.first_line), message.urn)
    further = (f"a further place ({number})" for number in range(1, 1 + places.more))
    for place in (*places.subjects, *further):
        yield replace(first, about=place)


def _foreign(message: PolicyMessage) -> Finding:
    """A report without our line: of another pack, of another version, or of the SDK when a policy gave up."""
    text = message.message.strip()
    if message.pack == PACK and not message.gave_up:
        text = text.partition("\n")[2].strip() or text  # the policy's own description stands above it
    advisory = Level.UNDECIDED if message.gave_up else Level.ADVICE
    level = Level.REFUSED if message.level == "mandatory" else advisory
    rule, name = f"{message.pack} {message.policy}".strip(), message.urn.rpartition("::")[2]
    return Finding(level, rule, name, without_secrets(text), message.urn, is_ours=False)


def is_refusal(finding: Finding) -> bool:
    """It would stop the update."""
    return finding.level is Level.REFUSED and finding.since is not Since.RESOLVED


def compared(now: Sequence[Finding], base: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings compared with the base branch's, then those that are resolved.

    A finding with only its words changed (another size, another date) stands.
    """
    there = Counter(finding.key for finding in base)
    return (*_with_since(now, there), *_left(base, Counter(each.key for each in now)))


def _with_since(now: Iterable[Finding], there: Counter[Key]) -> Iterator[Finding]:
    for finding in now:
        is_there = there[finding.key] > 0
        there[finding.key] -= 1
        yield replace(finding, since=Since.STANDING if is_there else Since.NEW)


def _left(base: Iterable[Finding], now: Counter[Key]) -> Iterator[Finding]:
    for finding in base:
        if now[finding.key] > 0:
            now[finding.key] -= 1
        else:
            yield replace(finding, since=Since.RESOLVED)


# Rules about the pushed image: they cannot be decided before the build.
_OF_BUILT_IMAGES: Final = frozenset(
    {"P-PIN", "P-SIZE", "P-DISK", "P-START", "P-NODRIVER", "P-ONECUDA", "P-BASE", "P-ROOM"}
)


def with_routine(findings: Iterable[Finding], stream: Stream, builds: frozenset[str]) -> tuple[Finding, ...]:
    """The findings; marks those that are open only because an image is built first.

    `builds`: resource types that build images. A workload with only known values has no such finding.
    """
    is_building = any(step.type in builds for step in stream.changed)

    def waits(finding: Finding) -> bool:
        if finding.level is not Level.UNDECIDED or finding.rule not in _OF_BUILT_IMAGES or not is_building:
            return False
        step = stream.steps.get(finding.urn)
        return f"::{STACK}::" in finding.urn or (step is not None and has_unknown(step.new))

    return tuple(replace(each, is_routine=waits(each)) for each in findings)
