"""The pack as the engine calls it: proxies, unknowns, floats, levels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pulumi_policy import EnforcementLevel, PolicyCustomTimeouts, PolicyResourceOptions, ResourceValidationArgs
from pulumi_policy.proxy import UNKNOWN_ARRAY_VALUE, UNKNOWN_NUMBER_VALUE, UNKNOWN_STRING_VALUE, unknown_checking_proxy

from components.placement import UNKNOWN
from components.settings import load_stack
from policies.adapter import pack_policies, plain, site_of
from policies.findings import Site
from policies.stacks import DEFAULT_STACKS, site_of_stack

SITE = Site(nodes=(), allowed_registries=("registry.example.edu",))


def reports(props: dict[str, Any], *, policy: str) -> list[str]:
    (chosen,) = [each for each in pack_policies(lambda _: SITE) if each.name == policy]
    found: list[str] = []
    chosen.validate(arguments(props), lambda message, _=None: found.append(message))
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


def test_what_cannot_be_proved_comes_from_the_advisory_policy_alone() -> None:
    pod = {"spec": {"containers": [{"name": "c", "image": UNKNOWN_STRING_VALUE}]}}
    assert reports(pod, policy="workloads") == []
    assert len(reports(pod, policy="workloads-advice")) == 1


@pytest.mark.parametrize("spec", [UNKNOWN_STRING_VALUE, None, 3.0, [], "text", {"containers": 1.0}])
def test_odd_shapes_never_end_the_run(spec: Any) -> None:
    for policy in ("workloads", "workloads-advice"):
        reports({"spec": spec}, policy=policy)


def test_one_policy_is_mandatory_and_one_tells() -> None:
    levels = {policy.name: policy.enforcement_level for policy in pack_policies(lambda _: SITE)}
    assert levels == {"workloads": EnforcementLevel.MANDATORY, "workloads-advice": EnforcementLevel.ADVISORY}


def test_a_stack_whose_file_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPU_COMMONS_STACKS", str(tmp_path))
    (policy,) = [each for each in pack_policies(site_of_stack) if each.name == "workloads"]
    found: list[str] = []
    policy.validate(arguments({"spec": {}}), lambda message, _=None: found.append(message))
    (message,) = found
    assert message.startswith("P-SITE: the site of stack s is not known, so nothing is proved")
    assert "Pulumi.s.yaml" in message


def test_the_rules_know_a_fleet_that_somebody_else_manages_as_well_as_an_own_one() -> None:
    stack = load_stack(DEFAULT_STACKS / "Pulumi.dsmlp-fall.yaml")
    shared = stack.fleet.model_copy(update={"managed_by": "dsmlp-core"})
    nodes = site_of(stack.model_copy(update={"fleet": shared, "runtime": None})).nodes
    assert nodes == site_of(stack).nodes
    assert len(nodes) == 15


def test_the_fleet_comes_from_the_stacks_own_file() -> None:
    site = site_of_stack("dsmlp-fall")
    assert len(site.nodes) == 15
    assert sum(node.allocatable["nvidia.com/gpu"] for node in site.nodes) == 119
