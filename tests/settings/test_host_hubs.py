"""Hubs on Docker hosts in a stack file: what follows from them, and what is refused."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from rows import each_row

from platforms.docker.hub_model import HostPort
from settings import resolve
from settings.fleet import landing_pools, usages
from settings.models import Stack
from settings.reading import SettingsError, load_stack

KERNEL = {"name": "cupy", "title": "CuPy", "image": "cupy-notebook-kernel", "gpus": 1, "cpu": 2, "memory_gib": 8}
SERVER = {"name": "gpu-server", "title": "GPU", "image": "cupy-notebook", "gpus": 1, "cpu": 2, "memory_gib": 8}
REMOTE = {
    "name": "remote", "title": "Remote", "image": "cupy-notebook-gateway-client", "cpu": 1, "memory_gib": 2,
    "is_default": True, "kernels": [KERNEL],
}  # fmt: skip
HUB: dict[str, Any] = {
    "name": "dcsg", "pool": "box", "hub_image": "docker-hub", "proxy_image": "proxy", "filter_image": "engine-filter",
    "gateway_image": "kernel-gateway", "expose": {"kind": "host_port", "port": 8000}, "profiles": [REMOTE, SERVER],
}  # fmt: skip
OAUTH = {
    "kind": "oauth", "client_id": "dcsg", "client_secret": {"secret": "login", "key": "client"}, "allow_all": True,
    "callback_url": "https://hub.example.edu/hub/oauth_callback", "authorize_url": "https://login.example.edu/a",
    "token_url": "https://login.example.edu/t", "userdata_url": "https://login.example.edu/u",
}  # fmt: skip
SECTIONS: dict[str, Any] = {
    "site": {
        "kind": "docker",
        "registry": "registry.example.edu/gpu-commons",
        "allowed_registries": ["registry.example.edu"],
        "authenticator": OAUTH,
    },
    "fleet": {
        "total_gpus": 2,
        "pools": [
            {
                "name": "box", "engine": "unix:///var/run/docker.sock", "gpu": "Tesla V100", "gpus_per_node": 2,
                "driver": "580.95.05", "container_toolkit": "1.18.1", "cpu": 16, "memory_gib": 128,
                "root_disk_gib": 400,
            }
        ],
    },
    "images": [
        *({"name": name} for name in ("docker-hub", "proxy", "engine-filter", "kernel-gateway", "cupy-notebook")),
        *({"name": "cupy-notebook", "target": target} for target in ("gateway-client", "kernel")),
    ],
    "hubs": [HUB],
}  # fmt: skip


def read(tmp_path: Path, change: Callable[[dict[str, Any]], object] = lambda _: None) -> Stack:
    data = copy.deepcopy(SECTIONS)
    change(data)
    file = tmp_path / "Pulumi.hub.yaml"
    file.write_text(yaml.safe_dump({"config": {f"gpu-commons:{key}": value for key, value in data.items()}}))
    return load_stack(file)


def refused(tmp_path: Path, change: Callable[[dict[str, Any]], object]) -> str:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, change)
    return str(caught.value)


def hub(**changes: Any) -> Callable[[dict[str, Any]], object]:
    return lambda data: data["hubs"][0].update(changes)


def test_servers_and_kernels_of_a_hub_run_on_its_host_which_nobody_has_to_repeat(tmp_path: Path) -> None:
    stack = read(tmp_path)
    remote, server = stack.hubs[0].profiles
    assert [landing_pools(stack, each) for each in (remote, server, *remote.kernels)] == [("box",)] * 3
    assert stack.hubs[0].expose == HostPort(kind="host_port", port=8000)
    assert [(each.kind, each.name, each.image, each.pools, each.gpus) for each in usages(stack)] == [
        ("hub", "dcsg", "docker-hub", ("box",), 0),
        ("proxy", "dcsg", "proxy", ("box",), 0),
        ("filter", "dcsg", "engine-filter", ("box",), 0),
        ("gateway", "dcsg", "kernel-gateway", ("box",), 0),
        ("profile", "remote", "cupy-notebook-gateway-client", ("box",), 0),
        ("kernel", "remote/cupy", "cupy-notebook-kernel", ("box",), 1),
        ("profile", "gpu-server", "cupy-notebook", ("box",), 1),
    ]


def test_a_user_of_a_profile_holds_the_gpus_of_the_server_or_of_its_greediest_kernel(tmp_path: Path) -> None:
    remote, server = read(tmp_path).hubs[0].profiles
    assert (remote.most_gpus, server.most_gpus) == (1, 1)


@pytest.mark.slow
@each_row(
    ("changes", "words"),
    [
        ({"pool": None}, "hubs[0].pool: is missing"),
        ({"pool": "bax"}, 'hubs[0].pool: "bax" is not a host of the fleet'),
        ({"pool": 7}, "hubs[0].pool: 7 is not text"),
        ({"filter_image": None}, "hubs[0].filter_image: is missing for a hub on a Docker host"),
        ({"gateway_image": None}, "hubs[0].gateway_image: is missing for profiles with kernels"),
        ({"gateway_image": "gateway"}, 'hubs[0].gateway_image: "gateway" is not an image of this stack'),
        (
            {"expose": {"kind": "node_port", "port": 30080}},
            'hubs[0].expose.kind: "node_port" is for a hub on a cluster',
        ),
        ({"name": "bridge"}, 'hubs[0].name: "bridge" is the name of a network of the host'),
        ({"name": "gpu-commons-card-0"}, "is the name of a network of the host"),
        ({"storage": {"homes": {"size_gib": 10}}}, "hubs[0].storage: is given for a hub on a Docker host"),
        ({"availability": False}, "hubs[0].availability: is given for a hub on a Docker host"),
        ({"pre_pull": True}, "hubs[0].pre_pull: is given for a hub on a Docker host"),
        ({"name": "a-hub-with-a-very-long-name"}, "is too long for a hub on a Docker host"),
        ({"name": "dcsg-server"}, "contains -server-, as names of users' containers do"),
        (
            {"expose": {"kind": "host_port", "certificate": "/etc/ssl/hub.pem"}},
            "hubs[0].expose.key: is missing beside certificate",
        ),
        (
            {"expose": {"kind": "host_port", "key": "/etc/ssl/hub.key"}},
            "hubs[0].expose.certificate: is missing beside key",
        ),
        ({"expose": {"kind": "host_port", "port": 70000}}, "hubs[0].expose.port: 70000 is not a port"),
    ],
)
def test_a_hub_that_cannot_be_on_a_host_is_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    assert words in refused(tmp_path, hub(**changes))


@each_row(
    ("profile", "words"),
    [
        ({**REMOTE, "gpus": 1}, "profiles[0].gpus: 1 is given beside kernels"),
        ({**REMOTE, "kernels": [KERNEL, {**KERNEL, "title": "B"}]}, "kernels[1].name: "),
        ({**REMOTE, "kernels": [KERNEL, {**KERNEL, "name": "b"}]}, "kernels[1].title: "),
        ({**REMOTE, "kernels": [{**KERNEL, "gpus": 3}]}, "kernels[0].gpus: 3 is more than host box has (2)"),
        ({**REMOTE, "kernels": [{**KERNEL, "image": "cupy"}]}, 'kernels[0].image: "cupy" is not an image'),
        ({**REMOTE, "kernels": [{**KERNEL, "shm_gib": 9}]}, "kernels[0].shm_gib: 9 is above memory_gib"),
        ({**REMOTE, "kernels": [{**KERNEL, "pool": "other"}]}, "kernels[0].pool: "),
        ({**SERVER, "is_default": True, "gpus": 3}, "profiles[0].gpus: 3 is more than any node of pool box has (2)"),
        ({**SERVER, "is_default": True, "pools": ["box"]}, "profiles[0].pools: is given for a hub on a Docker host"),
    ],
)
def test_a_profile_that_no_host_can_give_is_refused(tmp_path: Path, profile: dict[str, Any], words: str) -> None:
    assert words in refused(tmp_path, hub(profiles=[profile]))


def test_a_port_of_a_host_is_one_hubs_or_one_containers(tmp_path: Path) -> None:
    ports = [{"name": "web", "container": 80, "host": 8000}]
    board = {"name": "board", "image": "cupy-notebook", "pool": "box", "cpu": 1, "memory_gib": 2, "ports": ports}
    text = refused(tmp_path, lambda data: data.update(containers=[board]))
    assert "containers[0].ports[0].host: 8000 is the port of hub dcsg on the same host" in text
    text = refused(tmp_path, lambda data: data["hubs"].append({**copy.deepcopy(HUB), "name": "second"}))
    assert "hubs[1].expose.port: 8000 is the port of hub dcsg on the same host" in text


def test_what_only_a_host_has_is_refused_on_a_cluster(tmp_path: Path) -> None:
    def on_a_cluster(data: dict[str, Any]) -> None:
        data["site"] |= {"kind": "kubernetes", "core_pool": "box"}
        (pool,) = data["fleet"]["pools"]
        pool["nodes"] = [pool.pop("engine") and "n01"]

    text = refused(tmp_path, on_a_cluster)
    for key in ("pool", "filter_image", "gateway_image"):
        assert f"hubs[0].{key}: is given on a site without Docker hosts" in text
    assert 'hubs[0].expose.kind: "host_port" is for a hub on a Docker host' in text
    assert "hubs[0].profiles[0].kernels: are given on a site without Docker hosts" in text


def test_a_container_is_not_called_as_what_a_hub_on_its_host_makes(tmp_path: Path) -> None:
    board = {"name": "dcsg-server-ann", "image": "cupy-notebook", "pool": "box", "cpu": 1, "memory_gib": 2}
    text = refused(tmp_path, lambda data: data.update(containers=[board]))
    assert 'containers[0].name: "dcsg-server-ann" is among the names of hub dcsg on its host' in text
    job = {**board, "name": "dcsg-hub", "command": ["true"]}
    text = refused(tmp_path, lambda data: data.update(jobs=[job]))
    assert 'jobs[0].name: "dcsg-hub" is among the names of hub dcsg on its host' in text
    assert read(tmp_path, lambda data: data.update(containers=[{**board, "name": "dcsg2"}]))


def test_a_kernel_whose_memory_cannot_hold_what_its_image_asks_for_is_refused(tmp_path: Path) -> None:
    stack = read(tmp_path, lambda data: data["images"].append({"name": "perceptron"}))
    kernel = stack.hubs[0].profiles[0].kernels[0].model_copy(update={"image": "perceptron", "memory_gib": 0.5})
    profile = stack.hubs[0].profiles[0].model_copy(update={"kernels": (kernel,)})
    small = stack.model_copy(update={"hubs": (stack.hubs[0].model_copy(update={"profiles": (profile,)}),)})
    with pytest.raises(SettingsError, match=r"hubs\[0\]\.profiles\[0\]\.kernels\[0\]\.memory_gib: 0\.5 is below"):
        list(resolve.images_in_order(small))
