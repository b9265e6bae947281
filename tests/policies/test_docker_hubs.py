"""A hub on a Docker host: what it starts is proved like any workload, and only its filter may have the engine."""

from __future__ import annotations

from typing import Any

import pytest
from rows import each_row
from stack_inputs import docker_hub_args

from cli.stack.check import offline_resources
from fleet.unknown import UNKNOWN
from imaging.spec.load import IMAGES
from platforms.docker.container import CONTAINER_TOKEN
from policies.docker_workloads import DOCKER_HUB_TOKEN
from policies.evaluate import evaluate
from policies.finding import Level
from policies.from_settings import site_of
from policies.pod_workloads import workloads
from policies.stacks import DEFAULT_STACKS
from settings import resolve
from settings.reading import load_stack

REPORTED = frozenset({Level.REFUSE, Level.WARN})
STACK = load_stack(DEFAULT_STACKS / "Pulumi.dcsg.yaml")
SITE = site_of(STACK, IMAGES)  # whatever lab the tests are of


def hub_inputs(**changes: Any) -> dict[str, Any]:
    refs: Any = {
        each.full_name: f"registry.example.edu/gpu-commons/{each.full_name}@sha256:{'0' * 64}" for each in STACK.images
    }
    (host,) = resolve.hosts(STACK)
    return {**docker_hub_args(STACK, STACK.hubs[0], refs, host, ["card-0", "card-1"]), **changes}


def messages(inputs: dict[str, Any], levels: frozenset[Level] = REPORTED) -> list[str]:
    return list(evaluate(DOCKER_HUB_TOKEN, "dcsg", inputs, SITE, levels))


def test_the_stack_has_no_findings() -> None:
    found = [
        message
        for token, name, inputs in offline_resources(STACK)
        for message in evaluate(token, name, inputs, SITE, REPORTED)
    ]
    assert found == []


def test_servers_and_kernels_are_read_with_what_they_ask_for() -> None:
    found = {each.name: each.containers[0].limits for each in workloads(DOCKER_HUB_TOKEN, "dcsg", hub_inputs())}
    assert found == {
        "profile remote-kernels of hub dcsg": {"cpu": 1, "memory": "2Gi"},
        "kernel cupy of profile remote-kernels of hub dcsg": {"cpu": 2, "memory": "8Gi", "nvidia.com/gpu": "1"},
        "kernel cpu of profile remote-kernels of hub dcsg": {"cpu": 1, "memory": "4Gi"},
        "profile gpu-server of hub dcsg": {"cpu": 2, "memory": "8Gi", "nvidia.com/gpu": "1"},
    }


def changed(name: str, **changes: Any) -> dict[str, Any]:
    """The hub with another kernel, the one of that name."""
    inputs = hub_inputs()
    kernels = [{**each, **(changes if each["name"] == name else {})} for each in inputs["profiles"][0]["kernels"]]
    return {**inputs, "profiles": [{**inputs["profiles"][0], "kernels": kernels}]}


@each_row(
    ("changes", "words"),
    [
        ({"image": "quay.io/other/kernel:latest"}, "P-PIN: kernel cupy of profile remote-kernels of hub dcsg: "),
        (
            {"image": f"quay.io/other/kernel@sha256:{'0' * 64}"},
            "P-PIN: kernel cupy of profile remote-kernels of hub dcsg: ",
        ),
        ({"gpus": 3}, "P-HOST: kernel cupy of profile remote-kernels of hub dcsg: "),
        ({"memory_gib": 512}, "P-HOST: kernel cupy of profile remote-kernels of hub dcsg: "),
    ],
)
def test_a_kernel_is_proved_like_any_container(changes: dict[str, Any], words: str) -> None:
    assert any(message.startswith(words) for message in messages(changed("cupy", **changes)))


def test_a_profile_that_is_not_known_yet_is_unproved() -> None:
    assert messages(hub_inputs(profiles=UNKNOWN), frozenset({Level.UNPROVED}))
    assert messages(hub_inputs(profiles=[UNKNOWN]), frozenset({Level.UNPROVED}))


def engine_messages(name: str, image: Any) -> list[str]:
    (inputs,) = (
        inputs
        for token, called, inputs in offline_resources(STACK)
        if (token, called) == (CONTAINER_TOKEN, "dcsg-engine")
    )
    given = {**inputs, "name": name, "image": image}
    return [each for each in evaluate(CONTAINER_TOKEN, name, given, SITE, REPORTED) if "docker.sock" in each]


@pytest.mark.slow
def test_the_engines_socket_is_for_the_filter_with_the_image_of_the_stack_alone() -> None:
    ours = f"{STACK.site.registry}/engine-filter@sha256:{'0' * 64}"
    assert engine_messages("dcsg-engine", ours) == engine_messages("dcsg-engine", UNKNOWN) == []
    assert engine_messages("dcsg-hub", ours)
    assert engine_messages("dcsg-engine", f"{STACK.site.registry}/docker-hub@sha256:{'0' * 64}")


def test_an_engine_whose_socket_lies_in_a_home_is_for_the_filter_too() -> None:
    mounts = [{"type": "bind", "source": "/root/.local/state/engine/docker.sock"}]
    given = {"name": "dcsg-engine", "image": f"{STACK.site.registry}/engine-filter@sha256:{'0' * 64}", "mounts": mounts}
    assert [*evaluate(CONTAINER_TOKEN, "dcsg-engine", given, SITE, frozenset({Level.REFUSE}))] == []
    refused = evaluate(CONTAINER_TOKEN, "x", {**given, "name": "x"}, SITE, frozenset({Level.REFUSE}))
    assert any("reaches the container runtime" in each for each in refused)


def test_a_filter_that_people_copied_into_another_stack_is_not_this_one() -> None:
    other = site_of(load_stack(DEFAULT_STACKS / "Pulumi.perceptron.yaml"), IMAGES)
    ours = f"{STACK.site.registry}/engine-filter@sha256:{'0' * 64}"
    given = {"name": "dcsg-engine", "image": ours, "mounts": [{"type": "bind", "source": "/var/run/docker.sock"}]}
    assert any("docker.sock" in each for each in evaluate(CONTAINER_TOKEN, "dcsg-engine", given, other, REPORTED))
