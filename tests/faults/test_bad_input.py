"""Mistakes of a user, from the keyboard to the screen. All the others are in tests/settings/test_settings.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytestmark = pytest.mark.lab

if TYPE_CHECKING:
    from second_lab import Lab, Settings


def pool(stack: Settings, number: int) -> dict[str, Any]:
    found: dict[str, Any] = stack["config"]["gpu-commons:fleet"]["pools"][number]
    return found


def unknown_key(stack: Settings) -> None:
    stack["config"]["gpu-commons:flet"] = {}


def malformed_driver(stack: Settings) -> None:
    pool(stack, 0)["driver"] = "418"


def unknown_gpu(stack: Settings) -> None:
    pool(stack, 1)["gpu"] = "GeForce RTX 2080 Tea"


def wrong_total(stack: Settings) -> None:
    stack["config"]["gpu-commons:fleet"]["total_gpus"] = 120


def empty_pool(stack: Settings) -> None:
    pool(stack, 2)["nodes"] = []


def node_of_two_pools(stack: Settings) -> None:
    pool(stack, 1)["nodes"] = ["n18", "n21", "n22", "n01"]


def missing_image(stack: Settings) -> None:
    stack["config"]["gpu-commons:jobs"][0]["image"] = "tinny"


def missing_pool(stack: Settings) -> None:
    stack["config"]["gpu-commons:jobs"][0]["pool"] = "gtx1080"


def too_many_gpus(stack: Settings) -> None:
    stack["config"]["gpu-commons:jobs"][0] |= {"pool": "gtx1070ti", "gpus": 8}


WRONG = {"PULUMI_CONFIG_PASSPHRASE": "wrong"}
# What is broken, then path and value, then what to do.
MISTAKES = {
    "unknown key": (unknown_key, "gpu-commons:flet: is not a known key", "did you mean fleet?"),
    "malformed driver": (malformed_driver, 'fleet.pools[0].driver: "418" is not a driver version', '"418.88"'),
    "unknown GPU": (unknown_gpu, 'fleet.pools[1].gpu: "GeForce RTX 2080 Tea"', "GeForce RTX 2080 Ti"),
    "wrong total": (wrong_total, "fleet.total_gpus: 120 contradicts the pools", "write total_gpus: 119"),
    "empty pool": (empty_pool, "fleet.pools[2].nodes: leaves the pool without a node", "list at least one"),
    "node of two pools": (node_of_two_pools, 'fleet.pools[1].nodes: "n01" bel', "a node belongs to exactly one pool"),
    "missing image": (missing_image, 'jobs[0].image: "tinny"', "did you mean tiny?"),
    "missing pool": (missing_pool, 'jobs[0].pool: "gtx1080"', "did you mean gtx1080ti"),
    "too many GPUs": (too_many_gpus, "jobs[0].gpus: 8", "7"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_reported_before_anything_is_touched(second: Lab, stack: Settings, name: str) -> None:
    spoil, what, remedy = MISTAKES[name]
    spoil(stack)
    second.write(stack)
    before = second.running()
    text = second.python_m_lab("up", "--simulated", "--stack", "small").refused()
    assert what in text
    assert remedy in text
    assert text.startswith("error: ")
    assert "image registry" not in text, "a server was looked at before the stack file"
    assert second.running() == before


def test_all_mistakes_are_one_message_of_the_engine_and_the_stack_stays_as_it_was(
    deployed: Lab, stack: Settings
) -> None:
    before, nodes = deployed.resources(), deployed.nodes()
    for spoil in (unknown_key, malformed_driver, unknown_gpu, wrong_total, missing_image):
        spoil(stack)
    deployed.write(stack)
    text = deployed.up().refused()
    assert "stack configuration: 5 problems" in text
    for spoil in ("unknown key", "malformed driver", "unknown GPU", "wrong total", "missing image"):
        assert text.count(MISTAKES[spoil][1]) == 1, spoil
    assert "unhandled error" not in text, "the engine adds a second, empty reason"
    assert deployed.resources() == before
    assert deployed.nodes() == nodes


def test_a_stack_that_is_not_there_is_answered_with_those_that_are(second: Lab) -> None:
    text = second.python_m_lab("up", "--stack", "nope").refused()
    assert text == f'error: there is no stack "nope" in {second.project}/stacks; there are: small\n'


def test_a_wrong_passphrase_is_one_line_and_changes_nothing(deployed: Lab) -> None:
    before = deployed.resources()
    text = deployed.up(**WRONG).refused()
    assert text.splitlines() == ["error: getting stack configuration: get stack secrets manager: incorrect passphrase"]
    assert deployed.resources() == before
    assert deployed.locks() == []
