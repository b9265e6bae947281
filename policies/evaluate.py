"""Runs every rule on one resource. Independent of the SDK."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fleet.unknown import UNKNOWN
from policies import report
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.phase import is_preview
from policies.pod_workloads import workloads
from policies.report import Message
from policies.rules import gpu as gpu_request
from policies.rules import pin as pinned_image
from policies.rules import read as pods_read
from policies.rules import resource_claims
from policies.rules import run as image_runs
from policies.rules.gpu_openings import PULLED, called, claimed, claims, openings, opens
from policies.rules.index import ALL_RULES

IMAGE_TOKEN = "gpu-commons:index:GpuImage"  # noqa: S105 - a resource type
STACK_TOKEN = "pulumi:pulumi:Stack"  # noqa: S105 - the first resource of each run
Check = tuple[str, Rule, Callable[[], Iterator[Finding]]]  # subject, and rule
Hide = Callable[[str], str]


class ImageRefusals:
    """Refusals of the stack's images, not repeated for each workload that uses the image.

    A repetition has the same rule, image, pool and reason. A refusal waived for an image is advice for its workloads.
    """

    def __init__(self) -> None:
        self._waived: dict[tuple[str, ...], bool] = {}

    def add(self, rule: str, finding: Finding, strict: Finding) -> None:
        """An image's finding, and its effective form at the site."""
        if finding.level is Level.REFUSE:
            self._waived |= {(rule, *about): strict.is_waived for about in finding.about}

    def left(self, rule: str, finding: Finding) -> Finding | None:
        """The part to report for a workload: None if its image reported all, advice if waived there."""
        found = [self._waived.get((rule, *about)) for about in finding.about]
        if not found or None in found:
            return finding
        image = min(image for image, _, _ in finding.about)
        message = f"waived for image {image}; {finding.message}"
        return replace(finding, level=Level.WARN, message=message, is_waived=True) if any(found) else None


@dataclass(frozen=True, slots=True)
class Seen:
    """A resource's workloads, and every rule's reports about it."""

    workloads: tuple[Workload, ...]
    messages: tuple[Message, ...]


def evaluate(  # noqa: PLR0913, PLR0917 - a resource, a place, and what to report
    token: str,
    name: str,
    inputs: Mapping[str, Any],
    site: Site,
    levels: frozenset[Level],
    refusals: ImageRefusals | None = None,
) -> Iterator[str]:
    """All rules' messages about one resource, at these levels."""
    messages = judged(token, name, inputs, site, refusals or ImageRefusals()).messages
    yield from (each.text for each in messages if each.level in levels)


def judged(  # noqa: PLR0913, PLR0917 - a resource, a place, and facts about others
    token: str, name: str, inputs: Mapping[str, Any], site: Site, refusals: ImageRefusals, hide: Hide = str
) -> Seen:
    """One resource with all findings, at the site's strictness; `hide` removes secrets."""
    found = read(token, name, inputs)
    messages = []
    for subject, rule, check in _checks(token, name, inputs, found, site):
        for finding in findings(check):
            strict = site.strictness.applied(rule.id, subject, finding, today=site.today, is_preview=is_preview())
            if token == IMAGE_TOKEN:
                refusals.add(rule.id, finding, strict)
            elif (left := refusals.left(rule.id, finding)) is not finding:
                if left is None:
                    continue
                strict = left
            messages.append(message(rule, subject, strict, hide))
    if token == STACK_TOKEN:
        about_the_pack = {
            "P-SITE": site.notes,
            "P-WAIVER": site.strictness.waiver_notes(site.today),
            "P-LEVEL": site.strictness.softened(),
        }
        for rule_id, notes in about_the_pack.items():
            messages += [report.message(rule_id, "stack", Finding(note, Level.WARN)) for note in notes]
    return Seen(found, tuple(messages))


def read(token: str, name: str, inputs: Mapping[str, Any]) -> tuple[Workload, ...]:
    """A resource's workloads. If reading fails, the last one reports that."""
    found = []
    try:
        for workload in workloads(token, name, inputs):
            found.append(workload)  # noqa: PERF402 - what came before a failure counts
    except Exception as error:  # noqa: BLE001 - whatever it is: it would end every policy of the run
        unread = f"its pods could not be read ({type(error).__name__})"
        found.append(Workload(f"{token.rpartition(':')[2]} {name}", unread=unread))
    return tuple(found)


def _checks(token: str, name: str, inputs: Mapping[str, Any], found: Sequence[Workload], site: Site) -> Iterator[Check]:
    """A resource's checks: subject and rule."""
    if token == STACK_TOKEN:
        for rule in ALL_RULES:
            if rule.check_stack is not None:
                yield "stack", rule, functools.partial(rule.check_stack, site)
    elif token == IMAGE_TOKEN:
        yield from _image_checks(name, inputs, site)
    elif opens(token):
        check = functools.partial(openings, token, name, inputs, site)
        yield called(token, name, inputs), pinned_image.RULE if token == PULLED else gpu_request.RULE, check
        if claims(token):
            yield called(token, name, inputs), resource_claims.RULE, functools.partial(claimed, token, inputs, site)
    for workload in found:
        for rule in (pods_read.RULE,) if workload.unread else ALL_RULES:
            yield workload.name, rule, functools.partial(_check, rule, workload, site)


def _check(rule: Rule, workload: Workload, site: Site) -> Iterator[Finding]:
    """One rule about one workload; the rule's own remedy uses the workload's vocabulary."""
    for finding in rule.check(workload, site):
        yield finding if finding.remedy else replace(finding, remedy=rule.remedy_in(workload.words))


def _image_checks(name: str, inputs: Mapping[str, Any], site: Site) -> Iterator[Check]:
    parts = [part for part in (inputs.get("image", name), inputs.get("target")) if part]
    if UNKNOWN in parts:
        unread = Finding("it is not known yet which image of the stack it is", Level.UNPROVED)
        yield report.image_subject(name), image_runs.RULE, lambda: iter((unread,))
        return
    image = "-".join(map(str, parts))
    for rule in ALL_RULES:
        if rule.check_image is not None:
            yield report.image_subject(image), rule, functools.partial(rule.check_image, image, site)


def findings(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """A failing rule reports the failure after its findings: an exception would end every policy of the run."""
    found = []
    try:
        for finding in check():
            found.append(finding)  # noqa: PERF402 - what came before a failure counts
    except Exception as error:  # noqa: BLE001 - whatever it is
        found.append(Finding(f"the rule failed ({type(error).__name__})", Level.UNPROVED))
    return found


def message(rule: Rule, subject: str, finding: Finding, hide: Hide = str) -> Message:
    """A rule's finding as reported, without secrets."""
    hidden = replace(finding, message=hide(finding.message), remedy=hide(finding.remedy))
    return report.message(rule.id, hide(subject), hidden, rule.remedy_in())
