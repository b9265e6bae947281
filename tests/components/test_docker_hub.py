"""DockerHub: what it asks of an engine, in which order, and what outlives it."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from components.on_docker.docker_hub import DockerHub
from workloads.hub_programs import hub_programs


def ref(name: str) -> str:
    return f"registry.example.edu/{name}@sha256:{'0' * 64}"


KERNEL = {
    "name": "cupy", "title": "CuPy", "image": ref("kernel"), "image_name": "kernel", "gpus": 1, "cpu": 2,
    "memory_gib": 8,
}  # fmt: skip
ARGS: dict[str, Any] = {
    "pool": "box",
    "engine": "unix:///run/docker.sock",
    "hub_image": ref("docker-hub"),
    "proxy_image": ref("proxy"),
    "filter_image": ref("engine-filter"),
    "gateway_image": ref("kernel-gateway"),
    "expose": {"kind": "host_port", "port": 8443.0},
    "cards": [{"index": 0.0, "device": "GPU-a", "network": "gpu-commons-card-0"}],
    "authenticator": {"kind": "dummy"},
    "profiles": [
        {
            "name": "remote", "title": "Remote", "image": ref("client"), "image_name": "client", "cpu": 1,
            "memory_gib": 2, "kernels": [KERNEL],
        }
    ],
}  # fmt: skip


def made(recorded: Callable[..., Any], *, preview: bool = False, **changes: Any) -> Any:
    def program() -> dict[str, pulumi.Output[Any]]:
        args: Any = {**ARGS, **changes}
        hub = DockerHub("dcsg", args)
        return {"url": hub.url, "network": hub.network, "container_name": hub.container_name}

    return recorded(program, preview=preview)


def containers(run: Any) -> dict[str, dict[str, Any]]:
    return {each.inputs["name"]: each.inputs for each in run.of_type("container:Container")}


def uploaded(container: dict[str, Any]) -> dict[str, str]:
    return {each["file"]: each["content"] for each in container["uploads"]}


@pytest.mark.slow
@pytest.mark.parametrize("preview", [False, True], ids=["update", "preview"])
def test_a_hub_is_four_containers_two_networks_and_its_volumes(recorded: Callable[..., Any], preview: bool) -> None:
    run = made(recorded, preview=preview)
    assert containers(run).keys() == {"dcsg-engine", "dcsg-setup", "dcsg-proxy", "dcsg-hub"}
    assert {each.inputs["name"] for each in run.of_type("network:Network")} == {"dcsg", "dcsg-control"}
    assert {each.inputs["name"] for each in run.of_type("volume:Volume")} == {
        "dcsg-database", "dcsg-credentials", "dcsg-tls", "dcsg-program", "dcsg-engine", "dcsg-kernels",
    }  # fmt: skip


@pytest.mark.slow
def test_every_image_is_on_the_host_before_anybody_starts_a_server(recorded: Callable[..., Any]) -> None:
    pulled = {each.inputs["name"] for each in made(recorded).of_type("remoteImage:RemoteImage")}
    assert pulled == {
        ref(name) for name in ("docker-hub", "proxy", "engine-filter", "kernel-gateway", "client", "kernel")
    }


def test_the_setup_gets_every_program_and_what_they_read(recorded: Callable[..., Any]) -> None:
    files = uploaded(containers(made(recorded))["dcsg-setup"])
    assert files.keys() == {
        "/setup/hub.json",
        *(f"/setup/hub_files/{name}" for name in hub_programs("platforms.docker")),
    }
    assert "setup.py" in hub_programs("platforms.docker")
    document = json.loads(files["/setup/hub.json"])
    assert (document["hub"], document["url"]) == ("dcsg", "https://127.0.0.1:8443/")
    assert document["cards"] == [{"device": "GPU-a", "index": 0, "network": "gpu-commons-card-0"}]


def test_the_filter_is_told_what_this_hub_may_ask_for(recorded: Callable[..., Any]) -> None:
    (text,) = uploaded(containers(made(recorded))["dcsg-engine"]).values()
    assert "frontend hub" in text
    assert "frontend kernels" in text


@pytest.mark.slow
def test_a_change_of_what_the_hub_runs_starts_it_anew_and_nothing_else_does(recorded: Callable[..., Any]) -> None:
    def mark(**changes: Any) -> str:
        labels = containers(made(recorded, **changes))["dcsg-hub"]["labels"]
        return next(each["value"] for each in labels if each["label"] == "gpu-commons.org/configuration")

    assert mark() == mark(expose={"kind": "host_port", "port": 8443, "address": "127.0.0.1"})
    assert mark() != mark(kernels_per_user=2)


def test_people_reach_the_proxy_alone(recorded: Callable[..., Any]) -> None:
    run = made(recorded)
    published = {name: each.get("ports") for name, each in containers(run).items() if each.get("ports")}
    assert published == {"dcsg-proxy": [{"internal": 8000, "external": 8443, "ip": "127.0.0.1", "protocol": "tcp"}]}
    assert run.outputs == {"url": "https://127.0.0.1:8443/", "network": "dcsg", "container_name": "dcsg-hub"}


def test_what_the_hub_started_is_ended_with_it(recorded: Callable[..., Any]) -> None:
    inputs = made(recorded).only("HubServers").inputs
    assert (inputs["hub"], inputs["engine"]) == ("dcsg", "unix:///run/docker.sock")


def test_a_setup_that_failed_is_no_hub_and_says_why(recorded: Callable[..., Any]) -> None:
    failed = {"docker:index/container:Container": {"exitCode": 1, "containerLogs": "the key does not belong to root"}}
    args: Any = ARGS
    with pytest.raises(pulumi.RunError, match=r"dcsg-setup ended with exit code 1: the key does not .*docker start"):
        recorded(lambda: {"url": DockerHub("dcsg", args).url}, computed=failed)


def test_wrong_arguments_are_reported_all_at_once(recorded: Callable[..., Any]) -> None:
    with pytest.raises(pulumi.RunError) as caught:
        made(recorded, gateway_image=None, profiles=[{**ARGS["profiles"][0], "cpu": 0}])
    assert "dcsg.gateway_image: is missing for profiles with kernels" in str(caught.value)
    assert "dcsg.profiles[0].cpu: " in str(caught.value)
