"""What a hub on a Docker host tells its programs, what its containers may do, and what cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from rows import each_row

from errors.problems import SettingsError
from platforms.docker.hub import checksum, hub_document, hub_text
from platforms.docker.hub_containers import own_containers
from platforms.docker.hub_model import Hub, parse_hub


def ref(name: str) -> str:
    return f"registry.example.edu/{name}@sha256:{'0' * 64}"


KERNEL: dict[str, Any] = {
    "name": "cupy", "title": "CuPy (1 GPU)", "image": ref("cupy-notebook-kernel"), "gpus": 1, "cpu": 2,
    "image_name": "cupy-notebook-kernel", "memory_gib": 8, "memlock": "unlimited", "stack_mib": 64,
}  # fmt: skip
ARGS: dict[str, Any] = {
    "pool": "box",
    "engine": "ssh://ops@box.example.edu",
    "hub_image": ref("docker-hub"),
    "proxy_image": ref("proxy"),
    "filter_image": ref("engine-filter"),
    "gateway_image": ref("kernel-gateway"),
    "expose": {"kind": "host_port"},
    "access": "runtime",
    "cards": [
        {"index": 0, "device": "GPU-a", "network": "gpu-commons-card-0"},
        {"index": 1, "device": "GPU-b", "network": "gpu-commons-card-1"},
    ],
    "authenticator": {"kind": "dummy", "admins": ["ada"]},
    "profiles": [
        {
            "name": "remote", "title": "Kernels with GPUs", "image": ref("cupy-notebook-gateway-client"),
            "image_name": "cupy-notebook-gateway-client", "cpu": 1, "memory_gib": 2, "is_default": True,
            "kernels": [KERNEL],
        },
        {
            "name": "gpu", "title": "Server with a GPU", "image": ref("cupy-notebook"), "image_name": "cupy-notebook",
            "gpus": 1, "cpu": 2.5, "memory_gib": 8,
        },
    ],
}  # fmt: skip


def parsed(**changes: Any) -> Hub:
    return parse_hub("dcsg", {**ARGS, **changes})


def containers(**changes: Any) -> dict[str, dict[str, Any]]:
    return dict(own_containers("dcsg", parsed(**changes)))


def test_hub_json_has_all_that_its_programs_need(golden: Callable[[str], Any]) -> None:
    golden("docker-hub/hub.json").equals(hub_text(hub_document("dcsg", parsed())))


def test_a_server_with_gpus_is_left_to_its_grant_and_others_see_none() -> None:
    remote, server = hub_document("dcsg", parsed())["profiles"]
    assert remote["body"]["Env"] == ["NVIDIA_VISIBLE_DEVICES=void"]
    assert server["body"]["Env"] == remote["kernels"][0]["body"]["Env"] == []
    assert "DeviceRequests" not in server["body"]["HostConfig"]


def test_a_hub_without_kernels_has_no_gateway() -> None:
    profiles = [ARGS["profiles"][1]]
    document = hub_document("dcsg", parsed(profiles=profiles, gateway_image=None))
    assert document["gateway"] is None


def test_only_the_filter_has_the_engines_socket_and_it_reaches_no_network() -> None:
    made = containers()
    having = [
        name for name, each in made.items() for mount in each["mounts"] if mount["source"] == "/var/run/docker.sock"
    ]
    assert having == ["dcsg-engine"]
    assert made["dcsg-engine"]["network_mode"] == made["dcsg-setup"]["network_mode"] == "none"
    assert "networks_advanced" not in made["dcsg-engine"]


@pytest.mark.parametrize(
    ("changes", "socket"),
    [
        ({"engine": "unix:///run/user/docker.sock"}, "/run/user/docker.sock"),
        ({"engine": "tcp://box.example.edu:2376", "certificates": "/certs"}, "/var/run/docker.sock"),
        ({"engine_socket": "/srv/docker.sock"}, "/srv/docker.sock"),
    ],
)
def test_the_socket_is_the_one_that_the_host_has(changes: dict[str, Any], socket: str) -> None:
    assert containers(**changes)["dcsg-engine"]["mounts"][0]["source"] == socket


def test_no_container_has_a_capability_but_the_one_that_gives_files_their_owner_and_ends() -> None:
    made = containers()
    assert {name: each["capabilities"].get("adds", []) for name, each in made.items()} == {
        "dcsg-engine": [], "dcsg-setup": ["CAP_CHOWN"], "dcsg-proxy": [], "dcsg-hub": [],
    }  # fmt: skip
    assert made["dcsg-setup"]["attach"] is True
    assert made["dcsg-hub"]["user"] == made["dcsg-proxy"]["user"] == "1000:1000"


def test_the_proxy_sees_no_credential_of_the_hub_and_the_hub_no_key_of_the_proxy() -> None:
    made = containers()
    mounted = {name: {mount["source"] for mount in each["mounts"]} for name, each in made.items()}
    assert mounted["dcsg-proxy"] == {"dcsg-tls"}
    assert mounted["dcsg-hub"] == {"dcsg-program", "dcsg-credentials", "dcsg-engine", "dcsg-database"}


def test_the_proxy_starts_anew_for_another_certificate_and_not_for_another_profile() -> None:
    own = {"kind": "host_port", "certificate": "/etc/ssl/hub.pem", "key": "/etc/ssl/hub.key"}
    marks = {mark("proxy"), mark("proxy", expose=own), mark("proxy", public_url="https://hub.example.edu")}
    assert len(marks) == 3
    assert mark("proxy") == mark("proxy", profiles=ARGS["profiles"][1:])


def test_the_setup_runs_anew_for_another_file_of_the_host() -> None:
    paths = ("/etc/ssl/hub.pem", "/etc/ssl/new.pem")
    files = [{"kind": "host_port", "certificate": path, "key": "/etc/ssl/hub.key"} for path in paths]
    assert len({mark("setup"), *(mark("setup", expose=each) for each in files)}) == 3


def mark(part: str, **changes: Any) -> str:
    labels = containers(**changes)[f"dcsg-{part}"]["labels"]
    return next(each["value"] for each in labels if each["label"] == "gpu-commons.org/configuration")


def test_files_of_the_host_are_read_by_the_setup_alone() -> None:
    secret = {
        "kind": "oauth", "client_id": "dcsg", "client_secret": {"secret": "login", "key": "client"},
        "callback_url": "https://h.example.edu/cb", "authorize_url": "https://l.example.edu/a", "allow_all": True,
        "token_url": "https://l.example.edu/t", "userdata_url": "https://l.example.edu/u",
    }  # fmt: skip
    expose = {"kind": "host_port", "certificate": "/etc/ssl/hub.pem", "key": "/etc/ssl/hub.key"}
    made = containers(authenticator=secret, expose=expose)
    bound = [
        (name, mount["source"], mount["target"], mount["read_only"])
        for name, each in made.items()
        for mount in each["mounts"]
        if mount["type"] == "bind" and name != "dcsg-engine"
    ]
    assert bound == [
        ("dcsg-setup", "/etc/ssl/hub.pem", "/given/certificate", True),
        ("dcsg-setup", "/etc/ssl/hub.key", "/given/key", True),
        ("dcsg-setup", "/etc/gpu-commons/secrets/login/client", "/given/client-secret", True),
    ]


@each_row(
    ("expose", "public", "url"),
    [
        ({}, None, "https://127.0.0.1:8000/"),
        ({"port": 443, "address": "192.0.2.7"}, None, "https://192.0.2.7/"),
        ({"address": "0.0.0.0"}, None, "https://127.0.0.1:8000/"),  # noqa: S104 - compared
        ({}, "https://hub.example.edu/", "https://hub.example.edu/"),
    ],
)
def test_people_open_the_address_that_is_published(expose: dict[str, Any], public: str | None, url: str) -> None:
    assert parsed(expose={"kind": "host_port", **expose}, public_url=public).url == url


@each_row(
    ("changes", "words"),
    [
        ({"profiles": [{**ARGS["profiles"][1], "gpus": 3}]}, "profiles[0].gpus: 3 is more than the host has (2)"),
        (
            {"profiles": [{**ARGS["profiles"][0], "kernels": [{**KERNEL, "gpus": 3}]}]},
            "profiles[0].kernels[0].gpus: 3 is more than the host has (2)",
        ),
        ({"profiles": [{**ARGS["profiles"][1], "ipc": "host"}]}, "profiles[0].ipc: is host"),
        ({"profiles": [{**ARGS["profiles"][0], "gpus": 1}]}, "profiles[0].gpus: 1 is given beside kernels"),
        ({"profiles": [{**ARGS["profiles"][1], "pool": "other"}]}, "profiles[0].pool: is not the host of its hub"),
        ({"gateway_image": None}, "gateway_image: is missing for profiles with kernels"),
        ({"expose": {"kind": "host_port", "key": "/k"}}, "expose.certificate: is missing beside key"),
        ({"hub_image": ""}, 'hub_image: "" is empty'),
    ],
)
def test_wrong_arguments_are_refused_with_their_path(changes: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parsed(**changes)
    assert f"dcsg.{words}" in str(caught.value)


def test_a_list_of_users_is_the_list_of_all_users() -> None:
    login = parsed(authenticator={"kind": "dummy", "allowed_users": ["ada"]}).login
    assert (login.allow_all, login.allowed_users) == (False, ["ada"])


def test_a_changed_file_is_another_fingerprint() -> None:
    assert checksum({"a": "1"}) == checksum({"a": "1"}) != checksum({"a": "2"})
    assert json.loads(hub_text({"b": 1, "a": "é"})) == {"a": "é", "b": 1}
