"""One resource and what every rule says of it, as messages. Knows nothing of the SDK."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.rules.index import ALL_RULES
from policies.run import is_preview
from policies.workloads import workloads

NOT_PROVED = "could not be proved: "  # what such a message begins with, after the rule and whom it is about
IMAGE_TOKEN = "gpu-commons:index:GpuImage"  # noqa: S105 - a resource type
STACK_TOKEN = "pulumi:pulumi:Stack"  # noqa: S105 - the first resource of each run


class Told:
    """What was refused of an image of the stack, for all that uses it: its workloads need not hear the same again.

    The same is the same rule, image, pool and reason. What was waived for the image is, for its workloads, told.
    """

    def __init__(self) -> None:
        self._waived: dict[tuple[str, ...], bool] = {}

    def add(self, rule: str, finding: Finding, strict: Finding) -> None:
        """A finding about an image itself, and what the site makes of it."""
        if finding.level is Level.REFUSE:
            self._waived |= {(rule, *about): strict.is_waived for about in finding.about}

    def left(self, rule: str, finding: Finding) -> Finding | None:
        """What a workload has to say beside its image: nothing where all was told, no refusal where it was waived."""
        found = [self._waived.get((rule, *about)) for about in finding.about]
        if not found or None in found:
            return finding
        image = min(image for image, _, _ in finding.about)
        message = f"waived for image {image}; {finding.message}"
        return replace(finding, level=Level.WARN, message=message, is_waived=True) if any(found) else None


@dataclass(frozen=True, slots=True)
class Seen:
    """What the engine showed of one resource, as plain values, its workloads, and what every rule says of it."""

    inputs: Mapping[str, Any]
    workloads: tuple[Workload, ...]
    said: tuple[tuple[Level, str], ...]


def evaluate(  # noqa: PLR0913, PLR0917 - a resource, a place, and what is asked for
    token: str,
    name: str,
    inputs: Mapping[str, Any],
    site: Site,
    levels: frozenset[Level],
    told: Told | None = None,
) -> Iterator[str]:
    """Messages of all rules about one resource, of these levels."""
    said = judged(token, name, inputs, site, told or Told()).said
    yield from (text for level, text in said if level in levels)


def judged(token: str, name: str, inputs: Mapping[str, Any], site: Site, told: Told) -> Seen:
    """One resource and what every rule says of it, as strict as the site wants it."""
    found = tuple(workloads(token, name, inputs))
    said = []
    for subject, rule, check in _checks(token, name, inputs, found, site):
        for finding in findings(check):
            strict = site.strictness.applied(rule.id, subject, finding, today=site.today, is_preview=is_preview())
            if token == IMAGE_TOKEN:
                told.add(rule.id, finding, strict)
            elif (left := told.left(rule.id, finding)) is not finding:
                if left is None:
                    continue
                strict = left
            said.append((strict.level, message(rule, subject, strict)))
    if token == STACK_TOKEN:
        said += [(Level.WARN, f"P-SITE: stack: {text}.") for text in site.notes]
        said += [(Level.WARN, f"P-WAIVER: stack: {text}.") for text in site.strictness.told(site.today)]
        said += [(Level.WARN, f"P-LEVEL: stack: {text}.") for text in site.strictness.softened()]
    return Seen(inputs, found, tuple(said))


def _checks(
    token: str, name: str, inputs: Mapping[str, Any], found: Sequence[Workload], site: Site
) -> Iterator[tuple[str, Rule, Callable[[], Iterator[Finding]]]]:
    """What is asked about one resource: of whom, by which rule."""
    if token == STACK_TOKEN:
        for rule in ALL_RULES:
            if rule.check_stack is not None:
                yield "stack", rule, functools.partial(rule.check_stack, site)
    elif token == IMAGE_TOKEN:
        image = "-".join(str(part) for part in (inputs.get("image", name), inputs.get("target")) if part)
        for rule in ALL_RULES:
            if rule.check_image is not None:
                yield f"image {image}", rule, functools.partial(rule.check_image, image, site)
    for workload in found:
        for rule in ALL_RULES:
            yield workload.name, rule, functools.partial(rule.check, workload, site)


def findings(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """A rule that fails inside says so, after what it had found: an exception would end every policy of the run."""
    found = []
    try:
        for finding in check():
            found.append(finding)  # noqa: PERF402 - what came before a failure counts
    except Exception as error:  # noqa: BLE001 - whatever it is
        found.append(Finding(f"the rule failed ({type(error).__name__})", Level.UNPROVED))
    return found


def message(rule: Rule, subject: str, finding: Finding) -> str:
    """`RULE: SUBJECT: TEXT. REMEDY`. Whoever reads messages knows by NOT_PROVED alone what is undecided."""
    if finding.level is Level.UNPROVED:
        stop = "" if "\n" in finding.message else "."
        return f"{rule.id}: {subject}: {NOT_PROVED}{finding.message}{stop}"
    remedy = finding.remedy or rule.remedy
    if "\n" in finding.message:
        return f"{rule.id}: {subject}: {finding.message}\n  change: {remedy}"
    return f"{rule.id}: {subject}: {finding.message}. {remedy}"
