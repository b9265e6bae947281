"""Between the policy SDK and the rules: proxies, unknowns and floats become plain values; findings become messages."""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pulumi_policy as sdk
from pulumi_policy.proxy import UnknownValueError

from components.placement import UNKNOWN
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.rules.index import ALL_RULES
from policies.run import is_preview
from policies.workloads import holds_pods, workloads

NOT_PROVED = "could not be proved: "  # what such a message begins with, after the rule and whom it is about
IMAGE_TOKEN = "gpu-commons:index:GpuImage"  # noqa: S105 - a resource type
STACK_TOKEN = "pulumi:pulumi:Stack"  # noqa: S105 - the first resource of each run
RUNTIME_CLASS_TOKEN = "kubernetes:node.k8s.io/v1:RuntimeClass"  # noqa: S105 - a resource type


def plain(value: Any) -> Any:
    """A value of the SDK as plain Python: proxies are dicts and lists, whole floats are ints, unknowns are UNKNOWN.

    Touching an unknown raises inside the SDK and would end the policy with a mere note; here it is a value.
    """
    if isinstance(value, Mapping):
        return {str(key): _item(value, key) for key in value}
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return [_item(value, index) for index in range(len(value))]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _item(container: Any, key: Any) -> Any:
    try:
        return plain(container[key])
    except UnknownValueError:
        return UNKNOWN


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


Report = Callable[[str, str | None], None]
SiteOf = Callable[[str], Site]


@dataclass(frozen=True, slots=True)
class Seen:
    """What the engine showed of one resource, as plain values, its workloads, and what every rule says of it."""

    inputs: Mapping[str, Any]
    workloads: tuple[Workload, ...]
    said: tuple[tuple[Level, str], ...]


@dataclass(frozen=True, slots=True)
class Memory:
    """What went by. A stack policy sees outputs alone, and a component's outputs are not its arguments; rules run once.

    A pod that names a runtime class of its stack comes after it, if it says that it depends on it.
    """

    seen: dict[str, Seen] = field(default_factory=dict)  # by URN
    runtime_classes: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # by the object's name

    def take_class(self, inputs: Mapping[str, Any]) -> None:
        """A runtime class with a name; one that is not known yet cannot be named by a pod either."""
        metadata = inputs.get("metadata")
        if isinstance(metadata, Mapping) and isinstance(name := metadata.get("name"), str):
            self.runtime_classes[name] = inputs


def pack_policies(site_of_stack: SiteOf) -> list[sdk.Policy]:
    """The CrossGuard policies: one that refuses, one that tells, one about the whole stack, which tells too.

    `site_of_stack` takes a stack's name. Three and no more: the SDK converts each resource anew for each policy.
    """
    told, memory = Told(), Memory()
    says = "; ".join(f"{rule.id}: {rule.says}" for rule in ALL_RULES)
    return [
        sdk.ResourceValidationPolicy(
            name="workloads",
            description=f"Workloads that cannot run, or take what is not theirs, are refused ({says}).",
            enforcement_level=sdk.EnforcementLevel.MANDATORY,
            validate=_validation(site_of_stack, frozenset({Level.REFUSE}), told, memory),
        ),
        sdk.ResourceValidationPolicy(
            name="workloads-advice",
            description="What deserves a look, and what could not be proved because a value is not known yet.",
            enforcement_level=sdk.EnforcementLevel.ADVISORY,
            validate=_validation(site_of_stack, frozenset({Level.WARN, Level.UNPROVED}), told, memory),
        ),
        sdk.StackValidationPolicy(
            name="fleet-advice",
            description="What all workloads together mean for a pool.",
            enforcement_level=sdk.EnforcementLevel.ADVISORY,
            validate=_stack_validation(site_of_stack, memory),
        ),
    ]


def _validation(
    site_of_stack: SiteOf, levels: frozenset[Level], told: Told, memory: Memory
) -> Callable[[sdk.ResourceValidationArgs, Report], Awaitable[Any] | None]:
    def validate(args: sdk.ResourceValidationArgs, report: Report) -> None:
        if args.resource_type == RUNTIME_CLASS_TOKEN:
            memory.take_class(plain(args.props))
        if args.resource_type not in {IMAGE_TOKEN, STACK_TOKEN} and not holds_pods(args.resource_type):
            return
        stack = _stack(args.urn)
        try:
            site = replace(site_of_stack(stack), runtime_classes=memory.runtime_classes)
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing was proved, and that must not pass
            # A stack of another project without pods needs no site: what makes pods is refused.
            if Level.REFUSE in levels and holds_pods(args.resource_type):
                report(f"P-SITE: the site of stack {stack} is not known, so nothing is proved: {error}", None)
            return
        inputs, seen = plain(args.props), memory.seen.get(args.urn)
        # The refusing policy comes first and looks anew: facts may have been read since. The other one repeats it.
        if seen is None or Level.REFUSE in levels or seen.inputs != inputs:
            memory.seen[args.urn] = seen = judged(args.resource_type, args.name, inputs, site, told)
        for level, message in seen.said:
            if level in levels:
                report(message, None)

    return validate


def _stack_validation(
    site_of_stack: SiteOf, memory: Memory
) -> Callable[[sdk.StackValidationArgs, Report], Awaitable[Any] | None]:
    def validate(args: sdk.StackValidationArgs, report: Report) -> None:
        pods = [resource for resource in args.resources if holds_pods(resource.resource_type)]
        if not pods:
            return
        try:
            site = replace(site_of_stack(_stack(pods[0].urn)), runtime_classes=memory.runtime_classes)
        except Exception:  # noqa: BLE001 - P-SITE has refused every workload for it
            return
        found: list[Workload] = []
        for each in pods:  # one that was not shown is of a state that nobody deploys now: its outputs are all there is
            seen = memory.seen.get(each.urn)
            found += seen.workloads if seen else workloads(each.resource_type, each.name, plain(each.props))
        for rule in ALL_RULES:
            if rule.check_together is not None:
                for finding in _findings(functools.partial(rule.check_together, found, site)):
                    report(_message(rule, finding.subject or "stack", finding), None)

    return validate


def _stack(urn: str) -> str:
    """urn:pulumi:STACK::PROJECT::TYPE::NAME."""
    return urn.split(":")[2]


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
    yield from (message for level, message in said if level in levels)


def judged(token: str, name: str, inputs: Mapping[str, Any], site: Site, told: Told) -> Seen:
    """One resource and what every rule says of it, as strict as the site wants it."""
    found = tuple(workloads(token, name, inputs))
    said = []
    for subject, rule, check in _checks(token, name, inputs, found, site):
        for finding in _findings(check):
            strict = site.strictness.applied(rule.id, subject, finding, today=site.today, is_preview=is_preview())
            if token == IMAGE_TOKEN:
                told.add(rule.id, finding, strict)
            elif (left := told.left(rule.id, finding)) is not finding:
                if left is None:
                    continue
                strict = left
            said.append((strict.level, _message(rule, subject, strict)))
    if token == STACK_TOKEN:
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


def _findings(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """A rule that fails inside says so, after what it had found: an exception would end every policy of the run."""
    found = []
    try:
        for finding in check():
            found.append(finding)  # noqa: PERF402 - what came before a failure counts
    except Exception as error:  # noqa: BLE001 - whatever it is
        found.append(Finding(f"the rule failed ({type(error).__name__})", Level.UNPROVED))
    return found


def _message(rule: Rule, subject: str, finding: Finding) -> str:
    """`RULE: SUBJECT: TEXT. REMEDY`. Whoever reads messages knows by NOT_PROVED alone what is undecided."""
    if finding.level is Level.UNPROVED:
        stop = "" if "\n" in finding.message else "."
        return f"{rule.id}: {subject}: {NOT_PROVED}{finding.message}{stop}"
    remedy = finding.remedy or rule.remedy
    if "\n" in finding.message:
        return f"{rule.id}: {subject}: {finding.message}\n  change: {remedy}"
    return f"{rule.id}: {subject}: {finding.message}. {remedy}"
