"""Docker hosts in a stack file: what follows from them, and what is refused before an engine is called."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from rows import each_row

from settings.fleet import landing_pools, usages
from settings.host_pools import HostPool
from settings.models import Stack
from settings.reading import SettingsError, load_stack
from settings.resolve import resolved_host


def sections() -> dict[str, Any]:
    site = {
        "kind": "docker",
        "registry": "registry.example.edu/gpu-commons",
        "allowed_registries": ["registry.example.edu"],
    }
    host = {
        "name": "box", "engine": "unix:///var/run/docker.sock", "gpu": "Tesla V100", "gpus_per_node": 2,
        "gpu_uuids": ["GPU-a", "GPU-b"], "driver": "580.95.05", "container_toolkit": "1.18.1", "cpu": 16,
        "memory_gib": 128, "root_disk_gib": 400,
    }  # fmt: skip
    port = {"name": "tensorboard", "container": 6006, "host": 16006}
    board = {"name": "board", "image": "cupy-notebook", "pool": "box", "cpu": 1, "memory_gib": 2, "ports": [port]}
    job = {"name": "train", "image": "cupy-notebook", "pool": "box", "gpus": 1, "cpu": 4, "memory_gib": 16}
    return {
        "site": site,
        "fleet": {"total_gpus": 2, "pools": [host]},
        "images": [{"name": "cupy-notebook"}],
        "containers": [board],
        "jobs": [{**job, "command": ["python", "train.py"]}],
    }


def read(tmp_path: Path, **changes: Any) -> Stack:
    file = tmp_path / "Pulumi.host.yaml"
    data = {**sections(), **changes}
    file.write_text(yaml.safe_dump({"config": {f"gpu-commons:{key}": value for key, value in data.items()}}))
    return load_stack(file)


def refused(tmp_path: Path, **changes: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        read(tmp_path, **changes)
    return str(caught.value)


def hosts(*changes: dict[str, Any], total: int | None = None) -> dict[str, Any]:
    (host,) = sections()["fleet"]["pools"]
    pools = [{**host, **each} for each in changes]
    return {"total_gpus": total if total is not None else sum(each["gpus_per_node"] for each in pools), "pools": pools}


def test_a_host_is_a_pool_with_one_node_and_its_cards_are_known_by_uuid(tmp_path: Path) -> None:
    stack = read(tmp_path)
    host = stack.fleet.pool("box")
    assert isinstance(host, HostPool)
    assert (host.node_names, host.gpus) == (("box",), 2)
    assert [(card.index, card.device) for card in resolved_host(stack, host).cards] == [(0, "GPU-a"), (1, "GPU-b")]
    assert str(host.driver) == "580.95.05"


def test_containers_and_jobs_use_images_as_they_do_on_a_cluster(tmp_path: Path) -> None:
    stack = read(tmp_path)
    assert [(each.kind, each.name, each.pools, each.gpus) for each in usages(stack)] == [
        ("container", "board", ("box",), 0),
        ("job", "train", ("box",), 1),
    ]
    assert landing_pools(stack, stack.jobs[0]) == ("box",)


def test_two_hosts_are_two_engines(tmp_path: Path) -> None:
    there = {"name": "other", "engine": "ssh://ops@gpu2.example.edu"}
    assert [pool.name for pool in read(tmp_path, fleet=hosts({}, there)).fleet.pools] == ["box", "other"]
    text = refused(tmp_path, fleet=hosts({}, {"name": "other"}))
    assert "fleet.pools[1].engine: " in text
    assert "is the engine of pool box" in text


@each_row(
    ("change", "words"),
    [
        ({"engine": "http://gpu2:2375"}, "is not the address of a Docker engine"),
        ({"engine": "unix://"}, "is not the address of a Docker engine"),
        ({"engine": "ssh://ops:secret@gpu2"}, "holds a password"),
        ({"engine": "tcp://gpu2.example.edu:2376"}, "is missing for an engine at tcp://"),
        ({"certificates": "/etc/docker/certs"}, "is for an engine at tcp:// only"),
        ({"gpu_uuids": ["GPU-a"]}, "has 1 entries for 2 GPUs"),
        ({"gpu_uuids": ["GPU-a", "GPU-a"]}, "is listed twice"),
        ({"gpu_access": "magic"}, "gpu_access"),
        ({"card_network": "8.8.8.0/24"}, "is not a private network"),
        ({"card_network": "10.0.0.0/30"}, "is not a private network with room for the GPUs"),
        ({"driver": None}, "driver: is missing"),
    ],
)
def test_a_host_that_cannot_be_is_refused(tmp_path: Path, change: dict[str, Any], words: str) -> None:
    assert words in refused(tmp_path, fleet=hosts(change))


def test_a_password_in_an_address_is_not_repeated(tmp_path: Path) -> None:
    assert "secret" not in refused(tmp_path, fleet=hosts({"engine": "ssh://ops:secret@gpu2"}))


def test_hosts_and_nodes_of_a_cluster_are_two_stacks(tmp_path: Path) -> None:
    site = {**sections()["site"], "kind": "kubernetes"}
    text = refused(tmp_path, site=site)
    assert "fleet.pools[0].engine: is given on a site without Docker hosts" in text
    assert "containers: is given on a site without Docker hosts" in text
    (host,) = sections()["fleet"]["pools"]
    node = {key: value for key, value in host.items() if key not in {"engine", "gpu_uuids"}} | {"nodes": ["n01"]}
    text = refused(tmp_path, fleet={"total_gpus": 2, "pools": [node]})
    assert "fleet.pools[0]: has no engine on a site of kind docker" in text


def test_what_a_cluster_decides_for_a_job_has_to_be_written_for_a_host(tmp_path: Path) -> None:
    (job,) = sections()["jobs"]
    text = refused(tmp_path, jobs=[{**job, "pool": None, "deadline_s": 60, "namespace": "batch"}])
    assert "name the host that it runs on: nothing schedules on a Docker host" in text
    assert "jobs[0].deadline_s: " in text
    assert "jobs[0].namespace: " in text


def test_a_port_of_a_host_belongs_to_one_container(tmp_path: Path) -> None:
    (board,) = sections()["containers"]
    text = refused(tmp_path, containers=[board, {**board, "name": "second"}])
    assert "containers[1].ports[0].host: 16006 is the port of container board on the same host" in text
    text = refused(tmp_path, containers=[{**board, "ports": [{"name": "x", "container": 0, "host": 99999}]}])
    assert text.count("is not a port") == 2


def test_more_gpus_than_the_host_has_are_refused(tmp_path: Path) -> None:
    (job,) = sections()["jobs"]
    assert "jobs[0].gpus: 3 is more than any node of pool box has (2)" in refused(tmp_path, jobs=[{**job, "gpus": 3}])


def test_an_unknown_host_or_image_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    (board,) = sections()["containers"]
    text = refused(tmp_path, containers=[{**board, "pool": "bax", "image": "cupy"}])
    assert "did you mean box?" in text
    assert 'containers[0].image: "cupy" is not an image of this stack' in text


def test_hubs_and_daemons_of_clusters_are_refused(tmp_path: Path) -> None:
    text = refused(tmp_path, runtime={"device_plugin": "nvcr.io/nvidia/k8s-device-plugin:v0.18.0"})
    assert "runtime: is given on a site of kind docker" in text


def test_a_name_that_no_engine_takes_is_refused(tmp_path: Path) -> None:
    (board,) = sections()["containers"]
    assert 'containers[0].name: "b" is too short for an engine' in refused(
        tmp_path, containers=[{**board, "name": "b"}]
    )
