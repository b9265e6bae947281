"""Applies the site's strictness: rule levels, waivers with end dates, and unproved findings. Pure."""

import datetime as dt
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from errors.problems import Problem, nearest
from policies.finding import Finding, Level


@dataclass(frozen=True, slots=True)
class Waiver:
    """One refusal waived until the end of a day. `resource` is its name in messages."""

    rule: str
    resource: str
    reason: str
    owner: str
    until: dt.date

    @property
    def text(self) -> str:
        """`P-START of profile ml of hub datahub, until 2027-06-30, by platform team: the nodes are warmed by hand`."""
        return f"{self.rule} of {self.resource}, until {self.until}, by {self.owner}: {self.reason}"


@dataclass(frozen=True, slots=True)
class Strictness:
    """The site's choice. `unproved` None: by default it depends on the image's owner and the run."""

    levels: Mapping[str, Level] = field(default_factory=dict)
    unproved: Level | None = None
    waivers: tuple[Waiver, ...] = ()

    def applied(self, rule: str, resource: str, finding: Finding, *, today: dt.date, is_preview: bool) -> Finding:
        """The finding at its effective level, with the reason if it differs from the rule's own."""
        if finding.level is Level.UNPROVED:
            default = Level.REFUSE if finding.is_own and not is_preview else Level.UNPROVED
            chosen = {None: default, Level.WARN: Level.UNPROVED}.get(self.unproved, Level.REFUSE)
            finding = replace(finding, level=chosen)
        elif (level := self.levels.get(rule)) and level is not finding.level:
            message = f"the site only warns about this: {finding.message}" if level is Level.WARN else finding.message
            finding = replace(finding, level=level, message=message)
        if finding.level is not Level.REFUSE:
            return finding
        for waiver in self.waivers:
            if (waiver.rule, waiver.resource) == (rule, resource) and today <= waiver.until:
                note = f"waived until {waiver.until} by {waiver.owner}: {waiver.reason}"
                return replace(finding, level=Level.WARN, message=f"{note}; {finding.message}", is_waived=True)
        return finding

    def waiver_notes(self, today: dt.date) -> Iterator[str]:
        """One note per waiver, in every run: active or expired."""
        for waiver in self.waivers:
            yield f"waived: {waiver.text}" if today <= waiver.until else f"no longer waived: {waiver.text}"

    def softened(self) -> Iterator[str]:
        """One note per rule whose refusals are only advice here, in every preview."""
        for rule, level in self.levels.items():
            if level is Level.WARN:
                yield f"the site only warns about what {rule} refuses"

    def problems(self, rules: Collection[str], advice: Collection[str] = ()) -> Iterator[Problem]:
        """Unknown rules and advice-only rules: a level or waiver for either would have no effect."""
        named = [(f"policies.levels.{rule}", rule) for rule in self.levels]
        named += [(f"policies.waivers[{index}].rule", each.rule) for index, each in enumerate(self.waivers)]
        for path, rule in named:
            if rule in advice:
                yield Problem(
                    path, f'"{rule}"', "only advises, so there is nothing to refuse or to waive", "leave it out"
                )
            elif rule not in rules:
                yield Problem(path, f'"{rule}"', "is not a rule", nearest(rule, rules, what="rule"))
