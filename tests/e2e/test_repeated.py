"""One finding of many workloads, through the real engine: reported once in full, with all its places at the end."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
from plain_stack import PlainStack, Previewed, Resource, plain_stack
from running_lab import RunningLab

from errors.problems import listing

NAMES = [f"web-{number:02}" for number in range(40)]
UNPINNED = "containers[0].image docker.io/library/busybox:1.36 has no digest"


def deployments(names: Sequence[str]) -> list[Resource]:
    template = {
        "spec": {
            "containers": [{"name": "c", "image": "docker.io/library/busybox:1.36"}],
            "tolerations": [{"operator": "Exists"}],
        }
    }
    kind = "kubernetes:apps/v1:Deployment"
    return [
        {"type": kind, "name": name, "inputs": {"metadata": {"name": name}, "spec": {"template": template}}}
        for name in names
    ]


@pytest.fixture
def stack(servers: RunningLab, tmp_path: Path) -> PlainStack:
    made = plain_stack(servers, tmp_path)
    made.settings(lambda _: None)
    return made


def of_pin(previewed: Previewed) -> list[tuple[str, str, str]]:
    return [each for each in previewed.messages if each[2].startswith("P-PIN")]


def test_the_same_finding_on_forty_deployments_is_one_finding_with_forty_places(stack: PlainStack) -> None:
    previewed = stack.preview(deployments(NAMES))
    assert previewed.ended.code != 0
    refused, together = of_pin(previewed)
    level, first, message = refused  # whichever the engine showed first
    assert (level, message.partition(" docker.io")[0]) == (
        "mandatory",
        f"P-PIN: Deployment {first}: containers[0].image",
    )
    assert together[:2] == ("advisory", "plain-plain")
    assert together[2].startswith(f"P-PIN: 40 places: {listing([f'Deployment {name}' for name in NAMES], most=8)}\n")
    found = [finding for finding in previewed.findings if finding.rule == "P-PIN"]
    assert sorted(finding.about for finding in found) == [f"Deployment {name}" for name in NAMES]
    assert {(finding.level.value, finding.text) for finding in found} == {("refused", found[0].text)}


def test_another_order_of_the_resources_gives_the_same_findings(stack: PlainStack) -> None:
    mixed = random.Random(7).sample(NAMES, len(NAMES))
    first, again = stack.preview(deployments(NAMES)), stack.preview(deployments(mixed))
    assert {(each.level, each.rule, each.about, each.text) for each in again.findings} == {
        (each.level, each.rule, each.about, each.text) for each in first.findings
    }
    assert of_pin(again)[1] == of_pin(first)[1]


def test_a_program_that_fails_midway_has_reported_each_finding_before(stack: PlainStack) -> None:
    previewed = stack.preview([*deployments(NAMES[:3]), {"raise": "the course list is empty"}])
    assert previewed.ended.code != 0
    assert "the course list is empty" in previewed.ended.out
    (refused,) = of_pin(previewed)
    assert refused[0] == "mandatory"
    assert UNPINNED in refused[2]


def test_a_finding_of_one_place_is_only_reported_at_its_resource(stack: PlainStack) -> None:
    ((level, name, message),) = of_pin(stack.preview(deployments(["alone"])))
    assert (level, name) == ("mandatory", "alone")
    assert message.startswith(f"P-PIN: Deployment alone: {UNPINNED}")


def test_an_update_makes_none_of_them(stack: PlainStack) -> None:
    stack.shows(deployments(NAMES[:3]))
    ended = stack.pulumi("up", "--yes", "--skip-preview", **stack.cache, GPU_COMMONS_SITE="")
    assert ended.code != 0
    assert UNPINNED in ended.shown
    exported = json.loads(stack.pulumi("stack", "export").out)
    made = {each["urn"].rpartition("::")[2] for each in exported["deployment"].get("resources", ())}
    assert made == {"plain-plain"}
