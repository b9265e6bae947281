"""The pack as the engine calls it: proxies, unknowns, floats, levels."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from image_facts import contents
from pulumi_policy import (
    EnforcementLevel,
    PolicyCustomTimeouts,
    PolicyResource,
    PolicyResourceOptions,
    ResourceValidationArgs,
    ResourceValidationPolicy,
    StackValidationArgs,
    StackValidationPolicy,
)
from pulumi_policy.proxy import UNKNOWN_ARRAY_VALUE, UNKNOWN_NUMBER_VALUE, UNKNOWN_STRING_VALUE, unknown_checking_proxy
from rows import each_row

from compat import Case, read_host
from fleet.labels import ALWAYS_DISCOVERED
from fleet.machines import Machine
from fleet.nodes import Node
from fleet.pools import PoolGpus
from fleet.unknown import UNKNOWN
from imaging.inspection.facts import ImageContents
from imaging.size.estimate import MB
from policies import crossguard
from policies.crossguard import pack_policies
from policies.evaluate import IMAGE_TOKEN, STACK_TOKEN, evaluate
from policies.finding import Level
from policies.from_settings import site_of
from policies.model import Site, Workload
from policies.pod_workloads import of_pod
from policies.report import for_people
from policies.rules.index import ABOUT_THE_PACK, ALL_RULES
from policies.sdk_handlers import plain
from policies.stacks import DEFAULT_STACKS, site_of_stack
from settings.pools import ProvidedRuntime
from settings.reading import load_stack

SITE = Site(nodes=(), allowed_registries=("registry.example.edu",))


def reports(props: dict[str, Any], *, policy: str) -> list[str]:
    (chosen,) = [each for each in pack_policies(lambda _: SITE) if each.name == policy]
    assert isinstance(chosen, ResourceValidationPolicy)
    found: list[str] = []
    chosen.validate(arguments(props), lambda message, _=None: found.append(for_people(message)))
    return found


def arguments(props: dict[str, Any]) -> ResourceValidationArgs:
    options = PolicyResourceOptions(
        protect=False,
        ignore_changes=[],
        delete_before_replace=None,
        aliases=[],
        custom_timeouts=PolicyCustomTimeouts(0, 0, 0),
        additional_secret_outputs=[],
    )
    urn = "urn:pulumi:s::p::kubernetes:core/v1:Pod::web"
    return ResourceValidationArgs("kubernetes:core/v1:Pod", unknown_checking_proxy(props), urn, "web", options, None)


def test_unknowns_become_values_wherever_they_are() -> None:
    proxy = unknown_checking_proxy(
        {"a": UNKNOWN_STRING_VALUE, "b": [1.0, UNKNOWN_NUMBER_VALUE], "c": {"d": UNKNOWN_ARRAY_VALUE}, "e": 1.5}
    )
    assert plain(proxy) == {"a": UNKNOWN, "b": [1, UNKNOWN], "c": {"d": UNKNOWN}, "e": 1.5}


def test_a_refusal_comes_from_the_mandatory_policy_alone() -> None:
    pod = {"spec": {"containers": [{"name": "c", "image": "docker.io/x:latest"}]}}
    assert len(reports(pod, policy="workloads")) == 2
    assert reports(pod, policy="workloads-advice") == []


def test_a_runtime_class_of_the_stack_keeps_its_pods_from_nodes_that_it_does_not_select() -> None:
    site = Site(nodes=(Node("n10", "gtx1070ti", {}, (), {}),), allowed_registries=("registry.example.edu",))
    (policy,) = [each for each in pack_policies(lambda _: site) if each.name == "workloads"]
    assert isinstance(policy, ResourceValidationPolicy)
    image = f"registry.example.edu/x@sha256:{'1' * 64}"
    pod = {"spec": {"runtimeClassName": "fast", "containers": [{"name": "c", "image": image}]}}
    found: list[str] = []

    def show(shown: ResourceValidationArgs) -> list[str]:
        found.clear()
        policy.validate(shown, lambda message, _=None: found.append(for_people(message)))
        return list(found)

    fast = {"metadata": {"name": "fast"}, "scheduling": {"nodeSelector": {"example.edu/disk": "ssd"}}}
    assert show(arguments(pod)) == []
    assert show(replace_type(arguments(fast), "kubernetes:node.k8s.io/v1:RuntimeClass", "fast")) == []
    assert [message.partition(" (")[0] for message in show(arguments(pod))] == ["P-HOST: Pod web: no pool can host it"]


def test_what_cannot_be_proved_comes_from_the_advisory_policy_alone() -> None:
    pod = {"spec": {"containers": [{"name": "c", "image": UNKNOWN_STRING_VALUE}]}}
    assert reports(pod, policy="workloads") == []
    assert len(reports(pod, policy="workloads-advice")) == 1


def test_each_rule_says_of_what_it_cannot_prove_in_the_same_words_that_it_could_not_be_proved() -> None:
    site = replace(
        small_site(), own_registry="registry.example.edu", contents_of=lambda _: None, own_images=frozenset({"new"})
    )
    template = {
        "metadata": {"annotations": {"gpu-commons.org/image": "ml,new"}},
        "spec": {
            "nodeSelector": {"example.edu/disk": UNKNOWN},
            "containers": [
                {"image": ML, "env": UNKNOWN, "resources": {"limits": {"nvidia.com/gpu": UNKNOWN}}},
                {"image": UNKNOWN, "resources": {"limits": {"nvidia.com/gpu": 1}}},
            ],
        },
    }
    foreign = {"spec": {"containers": [{"image": FOREIGN, "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}
    gpus = {"gtx1070ti": PoolGpus(read_host(Case(gpu="GTX 1070 Ti", driver="418.88", host="kubernetes")))}
    site = replace(site, gpus=gpus)
    unproved = frozenset({Level.UNPROVED})
    messages = [
        *evaluate(DEPLOYMENT, "web", {"spec": {"template": template}}, site, unproved),
        *evaluate("kubernetes:core/v1:Pod", "pod", foreign, site, unproved),
    ]
    run = Run(site)
    run.shows(DEPLOYMENT, "web", {"spec": {"template": template}})
    messages += run.ends((DEPLOYMENT, "web", {}))
    assert {message.partition(":")[0] for message in messages} == {
        *("P-GPU", "P-PIN", "P-HOST", "P-RUN", "P-NODRIVER", "P-ONECUDA", "P-BASE", "P-SIZE", "P-ROOM")
    }
    for message in messages:
        assert re.match(r"P-[A-Z]+: (Deployment web|Pod pod|pool gtx1070ti): could not be proved: ", message), message
        assert message.count("could not be proved") == 1


@each_row("spec", [UNKNOWN_STRING_VALUE, None, 3.0, [], "text", {"containers": 1.0}])
def test_odd_shapes_never_end_the_run(spec: Any) -> None:
    for policy in ("workloads", "workloads-advice"):
        reports({"spec": spec}, policy=policy)


def test_each_id_that_the_pack_reports_is_explained_on_the_page_of_rules() -> None:
    sources = Path(crossguard.__file__).parent.rglob("*.py")
    ids = {name for source in sources for name in re.findall(r"\bP-[A-Z]+\b", source.read_text())}
    assert ids == {rule.id for rule in ALL_RULES} | set(ABOUT_THE_PACK)


def test_one_policy_is_mandatory_and_two_tell() -> None:
    levels = {policy.name: policy.enforcement_level for policy in pack_policies(lambda _: SITE)}
    assert levels == {
        "workloads": EnforcementLevel.MANDATORY,
        "workloads-advice": EnforcementLevel.ADVISORY,
        "fleet-advice": EnforcementLevel.ADVISORY,
    }


def test_a_stack_whose_file_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPU_COMMONS_STACKS", str(tmp_path))
    (policy,) = [each for each in pack_policies(site_of_stack) if each.name == "workloads"]
    assert isinstance(policy, ResourceValidationPolicy)
    found: list[str] = []
    policy.validate(arguments({"spec": {}}), lambda message, _=None: found.append(for_people(message)))
    (message,) = found
    assert re.match(r"P-SITE: \w+ \S+: the site of stack s is not known, so nothing is proved", message)
    assert "Pulumi.s.yaml" in message


def test_a_custom_resource_needs_a_site_only_where_it_makes_pods(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPU_COMMONS_STACKS", str(tmp_path))
    (policy,) = [each for each in pack_policies(site_of_stack) if each.name == "workloads"]
    assert isinstance(policy, ResourceValidationPolicy)
    found: list[str] = []
    train = {"spec": {"worker": {"template": {"spec": {"containers": [{"image": "x"}]}}}}}
    for kind, props in {"Certificate": {"spec": {"secretName": "tls"}}, "Train": train}.items():
        shown = replace_type(arguments(props), f"kubernetes:example.org/v1:{kind}", kind.lower())
        policy.validate(shown, lambda message, _=None: found.append(for_people(message)))
    (message,) = found
    assert message.startswith("P-SITE: ")


def test_the_rules_know_nodes_whose_daemons_are_somebody_elses_as_well_as_own_ones() -> None:
    stack = load_stack(DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml")
    shared = stack.fleet.model_copy(update={"managed_by": "dsmlp-core"})
    own = site_of(stack).nodes
    operators = ProvidedRuntime(provided_by="gpu-operator")
    for others in ({"fleet": shared, "runtime": None}, {"runtime": operators}):
        site = site_of(stack.model_copy(update=others))
        assert [(node.name, node.taints, node.allocatable) for node in site.nodes] == [
            (node.name, node.taints, node.allocatable) for node in own
        ]
        assert all(node.labels == {**own[index].labels, **ALWAYS_DISCOVERED} for index, node in enumerate(site.nodes))
        assert len(site.nodes) == 15
        assert not site.runtime_daemons


@each_row(
    "labels",
    [
        {"nvidia.com/gpu.present": "true"},
        {"feature.node.kubernetes.io/pci-0302_10de.present": "true"},
        {"nvidia.com/gpu.deploy.device-plugin": "true"},
        {"beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux"},
        {"nvidia.com/gpu.memory": "11178"},
    ],
)
def test_labels_that_others_set_on_a_fleet_of_theirs_are_no_reason_to_refuse(labels: dict[str, str]) -> None:
    stack = load_stack(DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml")
    shared = stack.fleet.model_copy(update={"managed_by": "dsmlp-core"})
    site = site_of(stack.model_copy(update={"fleet": shared, "runtime": None}))
    container = {"name": "c", "image": "x", "resources": {"limits": {"nvidia.com/gpu": 1}}}
    pod = {"containers": [container], "tolerations": [{"operator": "Exists"}], "nodeSelector": labels}

    def refused(spec: dict[str, Any]) -> list[str]:
        found = evaluate("kubernetes:core/v1:Pod", "x", {"spec": spec}, site, frozenset({Level.REFUSE}))
        return [text for text in found if text.startswith("P-HOST")]

    assert refused(pod) == []
    assert len(refused({**pod, "nodeSelector": {"beta.kubernetes.io/arch": "arm64"}})) == 1
    assert len(refused({**pod, "nodeSelector": {"example.org/x": "y"}})) == 1


@pytest.mark.parametrize("stack", ["dsmlp-fall", "dsmlp-next"])
def test_the_fleet_comes_from_the_stacks_own_file(stack: str) -> None:
    site = site_of_stack(stack)
    assert len(site.nodes) == 15
    assert sum(node.allocatable["nvidia.com/gpu"] for node in site.nodes) == 119


def test_limits_of_the_site_reach_the_rules() -> None:
    stack = load_stack(DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml")
    assert not site_of(stack).limits.refuse_unsupported_base
    limits = stack.site.image_limits.model_copy(update={"refuse_unsupported_base": True})
    strict = stack.model_copy(update={"site": stack.site.model_copy(update={"image_limits": limits})})
    assert site_of(strict).limits.refuse_unsupported_base


def test_specs_say_what_an_image_has_at_least_and_what_it_stands_on() -> None:
    planned = site_of_stack("dsmlp-fall").planned_of("hub")
    assert planned is not None
    assert planned.least is not None
    assert planned.least.compressed > 30 * MB
    assert planned.base.startswith("docker.io/library/debian:bookworm")


def test_what_was_read_of_an_image_without_its_layers_does_not_hide_the_layers_for_the_rest_of_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store = iter([contents(1), contents(1, 2)])
    monkeypatch.setattr("policies.from_settings._known", lambda _: next(store))
    ask = site_of(load_stack(DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml")).contents_of
    assert [found.deep is not None for found in (ask(ML), ask(ML), ask(ML)) if found] == [False, True, True]


def test_a_spec_that_is_not_there_says_nothing(tmp_path: Path) -> None:
    stack = load_stack(DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml")
    assert site_of(stack, tmp_path).planned_of("hub") is None


# --- both resource policies judge once


def test_a_resource_is_judged_once_for_both_policies_and_anew_when_it_is_shown_again() -> None:
    references: list[str] = []

    def contents_of(reference: str) -> ImageContents | None:
        references.append(reference)
        return None

    run = Run(replace(small_site(), contents_of=contents_of))
    template = {"spec": {"template": {"spec": {"containers": [{"image": ML}]}}}}
    run.shows(DEPLOYMENT, "web", template, policies=("workloads",))
    once = len(references)
    assert once > 0
    run.shows(DEPLOYMENT, "web", template, policies=("workloads-advice",))
    assert len(references) == once
    run.shows(DEPLOYMENT, "web", template)
    assert len(references) == 2 * once


# --- the stack policy

FOREIGN = "registry.example.org/team/thing:1@sha256:" + "d" * 64
ML = "registry.example.edu/ml@sha256:" + "a" * 64
HUB = "gpu-commons:index:NotebookHub"
DEPLOYMENT = "kubernetes:apps/v1:Deployment"


def small_site(disk_gib: float = 10) -> Site:
    size = replace(contents(4, 8), digest="sha256:" + "a" * 64)
    allocatable = {"cpu": Decimal(8), "memory": Decimal(2**36), "nvidia.com/gpu": Decimal(8)}
    return Site(
        nodes=(Node("n10", "gtx1070ti", {"gpu-commons.org/pool": "gtx1070ti"}, [], allocatable),),
        allowed_registries=("registry.example.edu",),
        machines={"gtx1070ti": Machine(disk_gib, is_disk_assumed=True)},
        contents_of={ML: size}.get,
    )


class Run:
    """The pack in one run of the engine: it shows inputs of resources, and at the end all outputs together."""

    def __init__(self, site: Site) -> None:
        self.policies = {policy.name: policy for policy in pack_policies(lambda _: site)}
        self.messages: list[str] = []

    def shows(
        self,
        token: str,
        name: str,
        inputs: dict[str, Any],
        policies: tuple[str, ...] = ("workloads", "workloads-advice"),
    ) -> None:
        for policy in map(self.policies.get, policies):
            assert isinstance(policy, ResourceValidationPolicy)
            policy.validate(replace_type(arguments(inputs), token, name), lambda _, __=None: None)

    def ends(self, *outputs: tuple[str, str, Any]) -> list[str]:
        options = arguments({}).opts
        resources = [
            PolicyResource(token, unknown_checking_proxy(props), urn(token, name), name, options, None, None, [], {})
            for token, name, props in outputs
        ]
        policy = self.policies["fleet-advice"]
        assert isinstance(policy, StackValidationPolicy)
        policy.validate(
            StackValidationArgs(resources), lambda message, _=None: self.messages.append(for_people(message))
        )
        return self.messages


def urn(token: str, name: str) -> str:
    return f"urn:pulumi:s::p::{token}::{name}"


def replace_type(args: ResourceValidationArgs, token: str, name: str) -> ResourceValidationArgs:
    return ResourceValidationArgs(token, args.props, urn(token, name), name, args.opts, None)


def profile() -> dict[str, Any]:
    return {"profiles": [{"name": "ml", "image": ML, "pool": "gtx1070ti", "gpus": 1.0}]}


def test_the_stack_policy_sees_the_profiles_of_a_hub_whose_outputs_have_none() -> None:
    run = Run(small_site())
    run.shows(HUB, "datahub", profile())
    (message,) = run.ends((HUB, "datahub", {"url": "http://n10"}))
    assert message.startswith(
        "P-ROOM: pool gtx1070ti: 1 image may be on one node: 4.00 GB compressed plus 8.00 GB unpacked, "
        "but of 10 GiB (assumed by the stack file) the kubelet leaves 9.13 GB for images"
    )


def test_what_is_no_longer_in_the_stack_does_not_count() -> None:
    run = Run(small_site())
    run.shows(HUB, "datahub", profile())
    assert run.ends(("kubernetes:core/v1:Namespace", "n", {})) == []
    assert run.ends((DEPLOYMENT, "web", {"spec": {"template": {"spec": {"containers": []}}}})) == []


def test_of_resources_that_were_not_shown_the_state_counts() -> None:
    template = {"spec": {"template": {"spec": {"containers": [{"image": ML}]}}}}
    assert len(Run(small_site()).ends((DEPLOYMENT, "web", template))) == 1


@each_row("spec", [UNKNOWN_STRING_VALUE, None, 3.0, [], "text", {"template": UNKNOWN_STRING_VALUE}])
def test_odd_and_unknown_shapes_never_end_the_stack_policy(spec: Any) -> None:
    run = Run(small_site())
    run.shows(DEPLOYMENT, "web", {"spec": spec})
    run.shows(HUB, "datahub", {"profiles": spec})
    run.ends((DEPLOYMENT, "web", {"spec": spec}), (HUB, "datahub", {}), ("pulumi:pulumi:Stack", "s", {}))
    assert not [message for message in run.messages if "failed" in message]


def test_a_stack_of_another_project_without_pods_needs_no_stack_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GPU_COMMONS_STACKS", str(tmp_path))
    site_of_stack.cache_clear()
    (policy,) = [each for each in pack_policies(site_of_stack) if each.name == "workloads"]
    assert isinstance(policy, ResourceValidationPolicy)
    given = arguments({})
    given.resource_type = "pulumi:pulumi:Stack"
    policy.validate(given, lambda message, _=None: pytest.fail(message))


def test_a_waiver_of_a_rule_that_is_none_proves_nothing_and_is_refused_with_the_nearest_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = (DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml").read_text()
    given = "{rule: P-STRAT, resource: stack, reason: r, owner: o, until: '2999-12-31'}"
    (tmp_path / "Pulumi.s.yaml").write_text(f"{text}\n  gpu-commons:policies:\n    waivers: [{given}]\n")
    monkeypatch.setenv("GPU_COMMONS_STACKS", str(tmp_path))
    site_of_stack.cache_clear()
    (policy,) = [each for each in pack_policies(site_of_stack) if each.name == "workloads"]
    assert isinstance(policy, ResourceValidationPolicy)
    found: list[str] = []
    policy.validate(arguments({"spec": {}}), lambda message, _=None: found.append(for_people(message)))
    (message,) = found
    assert message.startswith("P-SITE: ")
    assert 'policies.waivers[0].rule: "P-STRAT" is not a rule' in message
    assert "did you mean P-START" in message


def test_a_stack_that_softens_a_rule_or_hardens_one_that_only_advises_gets_a_finding(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def messages_at(level: str, policy: str, shown: ResourceValidationArgs) -> list[str]:
        text = (DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml").read_text()
        (tmp_path / "Pulumi.s.yaml").write_text(f"{text}\n  gpu-commons:policies:\n    levels: {level}\n")
        site_of_stack.cache_clear()
        found: list[str] = []
        (chosen,) = [each for each in pack_policies(site_of_stack) if each.name == policy]
        assert isinstance(chosen, ResourceValidationPolicy)
        chosen.validate(shown, lambda message, _=None: found.append(for_people(message)))
        return found

    monkeypatch.setenv("GPU_COMMONS_STACKS", str(tmp_path))
    stack = replace_type(arguments({}), STACK_TOKEN, "s")
    messages = messages_at("{P-START: warn}", "workloads-advice", stack)
    assert "P-LEVEL: stack: the site only warns about what P-START refuses." in messages
    (refused,) = messages_at("{P-ROOM: refuse}", "workloads", arguments({"spec": {}}))
    assert refused.startswith("P-SITE: ")
    assert "P-ROOM" in refused
    assert "only advises" in refused


def test_a_stack_whose_file_cannot_be_read_has_no_fleet_to_speak_of() -> None:
    policies = {policy.name: policy for policy in pack_policies(site_of_stack)}
    policy = policies["fleet-advice"]
    assert isinstance(policy, StackValidationPolicy)
    resource = PolicyResource(DEPLOYMENT, {}, urn(DEPLOYMENT, "web"), "web", arguments({}).opts, None, None, [], {})
    policy.validate(StackValidationArgs([resource]), lambda message, _=None: pytest.fail(message))


def test_pods_that_cannot_be_read_are_not_proved_and_end_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Iterator[Workload]:
        yield of_pod("Pod web", {"containers": [{"image": "docker.io/x:1"}]})
        raise KeyError("containers")

    monkeypatch.setattr("policies.evaluate.workloads", fails)
    assert len(reports({"spec": {}}, policy="workloads")) == 2  # what was read is judged
    (message,) = reports({"spec": {}}, policy="workloads-advice")
    assert message == "P-READ: Pod web: could not be proved: its pods could not be read (KeyError)."
    run = Run(SITE)
    assert run.ends((DEPLOYMENT, "web", {"spec": {}})) == []


def test_an_image_of_the_stack_whose_name_is_not_known_yet_is_not_proved() -> None:
    unproved = frozenset({Level.UNPROVED})
    (message,) = evaluate(IMAGE_TOKEN, "ml", {"image": UNKNOWN}, SITE, unproved)
    assert message == "P-RUN: image ml: could not be proved: it is not known yet which image of the stack it is."


def test_a_course_whose_last_day_is_over_is_promised_nothing_and_starts_nothing() -> None:
    stack = load_stack(DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml")
    last, after = dt.date(2020, 12, 18), dt.date(2020, 12, 19)
    assert [course.name for course in site_of(stack, today=last).courses] == ["ml-intro", "deep-learning"]
    assert any(usage.courses for usage in site_of(stack, today=last).usages)
    assert site_of(stack, today=after).courses == ()
    assert not any(usage.courses for usage in site_of(stack, today=after).usages)
