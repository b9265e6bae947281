"""Connects the policy SDK to the rules: judges each resource from the engine, and reports findings."""

import functools
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, TypeGuard

import pulumi_policy as sdk

from fleet.unknown import UNKNOWN
from policies.configuration import sections
from policies.custom_resources import is_custom
from policies.evaluate import IMAGE_TOKEN, STACK_TOKEN, ImageRefusals, Seen, findings, judged, message, read
from policies.finding import Finding, Level
from policies.kinds import Kind, kind_of, objects
from policies.model import Site, Workload
from policies.phase import is_surely_preview
from policies.pod_workloads import holds_pods
from policies.redaction import hiding
from policies.report import Repeated
from policies.report import message as report_message
from policies.rules.gpu_openings import opens
from policies.rules.index import ALL_RULES
from policies.sdk_handlers import plain, secrets_of
from policies.stack_nodes import StackNode, stack_node, with_nodes

_LOOKED_AT: Final = frozenset({IMAGE_TOKEN, STACK_TOKEN})
_AROUND: Final = {("node.k8s.io", "RuntimeClass"), ("core", "Node")}  # context for judging pods
Report = Callable[[str, str | None], None]
SiteOf = Callable[[str], Site]


@dataclass(frozen=True, slots=True)
class Memory:
    """What the pack has seen. A stack policy sees only outputs, and a component's outputs are not its arguments.

    A pod that names a runtime class of its stack comes after that class only if it declares the dependency.
    """

    seen: dict[str, Seen] = field(default_factory=dict)  # by URN
    fresh: set[str] = field(default_factory=set)  # URNs seen only by the refusing policy so far
    secrets: set[str] = field(default_factory=set)  # of resources that create pods
    around_secrets: set[str] = field(default_factory=set)  # of resources that pods are judged against
    repeated: Repeated = field(default_factory=Repeated)
    runtime_classes: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # by the object's name
    nodes: dict[str, StackNode] = field(default_factory=dict)  # by URN
    site_unknown: dict[str, str] = field(default_factory=dict)  # reason, and the resource first reported for it

    def take(self, args: sdk.ResourceValidationArgs, kind: Kind) -> None:
        """Record runtime classes and nodes of the stack, single or in a list."""
        for index, each in objects(kind, plain(args.props)):
            if each is UNKNOWN:
                continue
            if kind.name == "RuntimeClass":
                self._take_class(each)
            elif not kind.is_patch:
                self.nodes[f"{args.urn}[{index}]"] = stack_node(args.name, each)
        self.around_secrets.update(secrets_of(args.urn))

    def _take_class(self, inputs: Mapping[str, Any]) -> None:
        """Skips a class without a known name: no pod can name it."""
        metadata = inputs.get("metadata")
        if isinstance(metadata, Mapping) and isinstance(name := metadata.get("name"), str):
            self.runtime_classes[name] = inputs

    def around(self, site: Site) -> Site:
        """The site plus what the stack itself declares."""
        return replace(with_nodes(site, tuple(self.nodes.values())), runtime_classes=self.runtime_classes)


def looks_at(resource_type: str) -> bool:
    """False for types that every policy ignores."""
    around = _is_around(kind_of(resource_type))
    return resource_type in _LOOKED_AT or holds_pods(resource_type) or opens(resource_type) or around


def _is_around(kind: Kind | None) -> TypeGuard[Kind]:
    return kind is not None and (kind.group, kind.name) in _AROUND


def pack_policies(site_of_stack: SiteOf) -> list[sdk.Policy]:
    """The CrossGuard policies: one refuses, one advises, one advises about the whole stack.

    `site_of_stack` takes a stack's name. Only three: the SDK converts each resource again for each policy.
    """
    refusals, memory = ImageRefusals(), Memory()
    return [
        sdk.ResourceValidationPolicy(
            name="workloads",
            description="Refuses workloads that cannot run or that take GPUs they did not request.",
            enforcement_level=sdk.EnforcementLevel.MANDATORY,
            config_schema=sdk.PolicyConfigSchema(sections()),
            validate=_validation(site_of_stack, frozenset({Level.REFUSE}), refusals, memory),
        ),
        sdk.ResourceValidationPolicy(
            name="workloads-advice",
            description="Warns, and reports what could not be proved because a value is not known yet.",
            enforcement_level=sdk.EnforcementLevel.ADVISORY,
            validate=_validation(site_of_stack, frozenset({Level.WARN, Level.UNPROVED}), refusals, memory),
        ),
        sdk.StackValidationPolicy(
            name="fleet-advice",
            description="Reports what all workloads together need from a pool, and every place of a repeated finding.",
            enforcement_level=sdk.EnforcementLevel.ADVISORY,
            validate=_stack_validation(site_of_stack, memory),
        ),
    ]


def _validation(
    site_of_stack: SiteOf, levels: frozenset[Level], refusals: ImageRefusals, memory: Memory
) -> Callable[[sdk.ResourceValidationArgs, Report], Awaitable[Any] | None]:
    def validate(args: sdk.ResourceValidationArgs, report: Report) -> None:
        kind = args.resource_type
        if _is_around(described := kind_of(kind)):
            memory.take(args, described)
        if kind not in {IMAGE_TOKEN, STACK_TOKEN} and not holds_pods(kind) and not opens(kind):
            return
        stack = _stack(args.urn)
        try:
            site = memory.around(site_of_stack(stack))
        except Exception as error:  # noqa: BLE001 - whatever it is, nothing was proved, and that must not pass
            # A foreign stack without pods needs no site: resources that create pods are refused.
            if Level.REFUSE in levels and _makes_pods(args):
                text = f"the site of stack {stack} is not known, so nothing is proved: {error}"
                subject = f"{described.name} {args.name}" if described else args.name
                first = memory.site_unknown.setdefault(text, subject)
                again = f"nothing is proved, for the reason given for {first}"
                report(report_message("P-SITE", subject, Finding(text if first == subject else again)).reported, None)
            return
        # The refusing policy runs first and judges again: new facts may be known. The other repeats its result.
        if Level.REFUSE in levels or args.urn not in memory.fresh:
            secrets = secrets_of(args.urn)
            memory.secrets.update(secrets)
            hide = hiding(secrets | memory.around_secrets)
            memory.seen[args.urn] = judged(args.resource_type, args.name, plain(args.props), site, refusals, hide)
        (memory.fresh.add if Level.REFUSE in levels else memory.fresh.discard)(args.urn)
        for each in memory.seen[args.urn].messages:
            # An update must refuse each resource itself, so only a preview abbreviates repeated refusals.
            is_always_reported = each.level is Level.REFUSE and not is_surely_preview()
            if each.level in levels and (memory.repeated.is_first(each, args.urn) or is_always_reported):
                report(each.reported, None)

    return validate


def _stack_validation(
    site_of_stack: SiteOf, memory: Memory
) -> Callable[[sdk.StackValidationArgs, Report], Awaitable[Any] | None]:
    def validate(args: sdk.StackValidationArgs, report: Report) -> None:
        for places in memory.repeated.together():
            report(places.reported, None)
        pods = [resource for resource in args.resources if holds_pods(resource.resource_type)]
        if not pods:
            return
        try:
            site = memory.around(site_of_stack(_stack(pods[0].urn)))
        except Exception:  # noqa: BLE001 - P-SITE has refused every workload for it
            return
        found: list[Workload] = []
        secrets = memory.secrets | memory.around_secrets
        for each in pods:  # for resources no longer deployed, the engine shows only outputs
            if seen := memory.seen.get(each.urn):
                found += seen.workloads
            else:
                found += read(each.resource_type, each.name, plain(each.props))
                secrets |= secrets_of(each.urn)
        for rule in ALL_RULES:
            if rule.check_together is not None:
                for finding in findings(functools.partial(rule.check_together, found, site)):
                    report(message(rule, finding.subject or "stack", finding, hiding(secrets)).reported, None)

    return validate


def _makes_pods(args: sdk.ResourceValidationArgs) -> bool:
    """Many custom resources have none."""
    kind = args.resource_type
    return holds_pods(kind) and (not is_custom(kind) or bool(read(kind, args.name, plain(args.props))))


def _stack(urn: str) -> str:
    """urn:pulumi:STACK::PROJECT::TYPE::NAME."""
    return urn.split(":")[2]
