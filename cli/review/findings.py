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


Key = tuple[str, str, str, str, tuple[str, ...]]


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

    @property
    def key(self) -> Key:
        """Equal on two branches. One rule may leave several questions open about one workload.

        Our findings name their subject; all places but the first report only that.
        """
        open_ = report.question(self.text) if self.level is Level.UNDECIDED else ()
        return (self.level, self.rule, "" if self.is_ours else self.urn, self.about, open_)


def findings_of(stream: Stream) -> tuple[Finding, ...]:
    """Every finding once, worst first, by rule; those about the whole stack follow their possible causes."""
    read = [(each, _read(each)) for each in stream.messages]
    reported = [(parsed, _ours(parsed, each)) for each, parsed in read if isinstance(parsed, report.Message)]
    findings = [each for parsed, each in reported if parsed.rule != _WAIVER]
    for each, parsed in read:
        if isinstance(parsed, report.Places):
            findings += _everywhere(parsed, reported, each)
        elif parsed is None:
            findings.append(_foreign(each))
    order = list(Level)

    def place(each: Finding) -> tuple[int, bool, str, str, str]:
        about_all = f"::{STACK}::" in each.urn
        return order.index(each.level), about_all, each.rule, each.about, each.text

    return tuple(sorted(dict.fromkeys(findings), key=place))


def _read(message: PolicyMessage) -> report.Message | report.Places | None:
    is_refused = message.level == "mandatory"
    return report.read(message.message, is_refused=is_refused) if message.pack == PACK else None


_LEVELS: Final = {
    Weight.REFUSE: Level.REFUSED,
    Weight.UNPROVED: Level.UNDECIDED,
    Weight.WARN: Level.ADVICE,
}


def _ours(parsed: report.Message, message: PolicyMessage) -> Finding:
    return Finding(_LEVELS[parsed.level], parsed.rule, parsed.subject, without_secrets(parsed.body), message.urn)


def _everywhere(
    places: report.Places, reported: Sequence[tuple[report.Message, Finding]], message: PolicyMessage
) -> Iterator[Finding]:
    """The finding at each place; the pack reports it in full only at the first."""
    first = next((each for parsed, each in reported if places.repeats(parsed)), None)
    if first is None:  # the stream lost it
        level = Level.UNDECIDED if places.is_unproved else Level.ADVICE
        first = Finding(level, places.rule, "", without_secrets(places.first_line), message.urn)
    further = (f"a further place ({number})" for number in range(1, 1 + places.more))
    for place in (*places.subjects, *further):
        yield replace(first, about=place)


def _foreign(message: PolicyMessage) -> Finding:
    """A report of another pack, or of the SDK when a policy gave up."""
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
