"""Policy findings: refused, undecided or advice; new, resolved or standing. And limits that a site has waived."""

import datetime as dt
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final

from cli.engine_events import STACK, PolicyMessage, Stream
from cli.engine_values import has_unknown, items, known_text, mapping, without_secrets
from cli.review.commons import day, full_name, settings
from cli.words import counted
from policies import report
from policies.finding import Level as Weight

PACK: Final = "gpu-commons"
RUN_RULE: Final = "P-RUN"
_WAIVER: Final = "P-WAIVER"  # the pack lists the site's waivers; the comment takes them from the settings
# Rules about the pushed image: they cannot be decided before the build.
_OF_BUILT_IMAGES: Final = frozenset(
    {"P-PIN", "P-SIZE", "P-DISK", "P-START", "P-NODRIVER", "P-ONECUDA", "P-BASE", "P-ROOM"}
)
_SOON_DAYS: Final = 14


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
_LEVELS: Final = {Weight.REFUSE: Level.REFUSED, Weight.UNPROVED: Level.UNDECIDED, Weight.WARN: Level.ADVICE}


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

    @property
    def is_refusal(self) -> bool:
        """It would stop the update."""
        return self.level is Level.REFUSED and self.since is not Since.RESOLVED

    @property
    def is_of_this_change(self) -> bool:
        """The base branch does not have it too, as far as known."""
        return self.since not in {Since.STANDING, Since.RESOLVED}


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
    for places, each in summaries:  # the pack reports it in full only at the first place, which the stream may lack
        level, text = _LEVELS[places.level], without_secrets(places.first_line)
        first = in_full.get(places.finding) or Finding(level, places.rule, "", text, each.urn)
        further = (f"a further place ({number})" for number in range(1, 1 + places.more))
        findings += (replace(first, about=place) for place in (*places.subjects, *further))

    def place(each: Finding) -> tuple[int, bool, str, str, str]:
        return [*Level].index(each.level), f"::{STACK}::" in each.urn, each.rule, each.about, each.text

    return tuple(sorted(dict.fromkeys(findings), key=place))


def statements(findings: Iterable[Finding]) -> int:
    """How many statements to read: one about several resources counts once."""
    return len({(each.level, each.rule, each.text) for each in findings})


def _ours(told: report.Message, message: PolicyMessage) -> Finding:
    """The engine's level counts: a site may make advice mandatory, or a refusal advice."""
    level = Level.UNDECIDED if told.level is Weight.UNPROVED else Level.ADVICE
    level = Level.REFUSED if message.level == "mandatory" else level
    text = told.body if level is Level.UNDECIDED else told.shown
    return Finding(level, told.rule, told.subject, without_secrets(text), message.urn, question=told.question)


def _foreign(message: PolicyMessage) -> Finding:
    """A report without our line: of another pack, of another version, or of the SDK when a policy gave up."""
    text = message.message.strip()
    if message.pack == PACK and not message.gave_up:
        text = text.partition("\n")[2].strip() or text  # the policy's own description stands above it
    level = Level.UNDECIDED if message.gave_up else Level.ADVICE
    level = Level.REFUSED if message.level == "mandatory" else level
    rule, name = f"{message.pack} {message.policy}".strip(), message.urn.rpartition("::")[2]
    return Finding(level, rule, name, without_secrets(text), message.urn, is_ours=False)


def compared(now: Sequence[Finding], base: Sequence[Finding]) -> tuple[Finding, ...]:
    """The findings compared with the base branch's, then those that are resolved.

    A finding with only its words changed (another size, another date) stands.
    """
    ours = (replace(each, since=Since.STANDING if found else Since.NEW) for each, found in _in_turn(now, base))
    return (*ours, *(replace(each, since=Since.RESOLVED) for each, found in _in_turn(base, now) if not found))


def _in_turn(these: Iterable[Finding], those: Iterable[Finding]) -> Iterator[tuple[Finding, bool]]:
    """Each finding, and whether the others have as many of its key."""
    left = Counter(each.key for each in those)
    for finding in these:
        left[finding.key] -= 1
        yield finding, left[finding.key] >= 0


def with_routine(findings: Iterable[Finding], stream: Stream) -> tuple[Finding, ...]:
    """The findings; marks those that are open only because an image is built first.

    A workload with only known values has no such finding.
    """
    is_building = any(step.kind == "image" for step in stream.changed)

    def waits(finding: Finding) -> bool:
        is_open = finding.level is Level.UNDECIDED and finding.rule in _OF_BUILT_IMAGES and is_building
        step = stream.steps.get(finding.urn)
        return is_open and (f"::{STACK}::" in finding.urn or (step is not None and has_unknown(step.new)))

    return tuple(replace(each, is_routine=waits(each)) for each in findings)


# --- waivers


@dataclass(frozen=True, slots=True)
class Waiver:
    """What is allowed, why, and its last day; None if it never ends or the day cannot be read."""

    subject: str
    allows: str
    reason: str
    owner: str
    until: dt.date | None
    has_end: bool = True

    def state(self, today: dt.date) -> str:
        """`expired`, `expires in 12 days`, or nothing while there is time."""
        if not self.has_end:
            return "never expires"
        if self.until is None:
            return "its last day cannot be read"
        left = (self.until - today).days
        if left <= 0:
            return "expires today" if left == 0 else "expired"
        return f"expires in {counted(left, 'day')}" if left <= _SOON_DAYS else ""


def waivers_of(config: Mapping[str, str]) -> tuple[Waiver, ...]:
    """Waivers of images (`images[].limit`) and rules (`policies.waivers[]`), next to end first.

    Rules that only warn here (`policies.levels`) come last: they never expire.
    """
    dated = []
    for image in items(settings(config, "images")):
        if limit := mapping(image.get("limit")):
            name = full_name(known_text(image.get("name")), known_text(image.get("target")))
            dated.append(_waiver(f"image {name}", f"up to {limit.get('compressed_gb')} GB compressed", limit))
    policies = mapping(settings(config, "policies"))
    for waiver in items(policies.get("waivers")):
        allows = f"what {known_text(waiver.get('rule'))} refuses"
        dated.append(_waiver(known_text(waiver.get("resource")), allows, waiver))
    return (
        *sorted(dated, key=lambda waiver: waiver.until or dt.date.min),
        *(
            Waiver("everything", f"what {rule} refuses", "the site only warns about it", "", None, has_end=False)
            for rule, level in mapping(policies.get("levels")).items()
            if level == "warn"
        ),
    )


def _waiver(subject: str, allows: str, terms: Mapping[str, object]) -> Waiver:
    reason, owner = without_secrets(known_text(terms.get("reason"))), known_text(terms.get("owner"))
    return Waiver(subject, allows, reason, owner, day(terms.get("until")))
