"""What a container asks the engine for: all of its profile, and nothing by default."""

from __future__ import annotations

from typing import Any

import pytest
from rows import each_row

from errors.problems import SettingsError
from platforms.docker.container import container_args, parse_container

REF = f"registry.example.edu/perceptron@sha256:{'0' * 64}"
ARGS: dict[str, Any] = {
    "image": REF, "image_name": "perceptron", "pool": "box", "cpu": 4, "memory_gib": 16, "shm_gib": 1,
    "memlock": "unlimited", "stack_mib": 64,
}  # fmt: skip


def arguments(**changes: Any) -> dict[str, Any]:
    return container_args("train", parse_container("train", {**ARGS, **changes}), "gpu-commons")


def refused(**changes: Any) -> str:
    with pytest.raises(SettingsError) as caught:
        arguments(**changes)
    return str(caught.value)


def test_the_flags_of_the_guide_are_typed_fields() -> None:
    made = arguments(gpus=1, devices=["0"], access="runtime")
    assert made["shm_size"] == 1024
    assert made["ulimits"] == [
        {"name": "memlock", "soft": -1, "hard": -1},
        {"name": "stack", "soft": 67108864, "hard": 67108864},
    ]
    assert made["gpus"] == "device=0"


def test_memory_and_cpu_have_limits_and_there_is_no_swap() -> None:
    made = arguments()
    assert (made["memory"], made["memory_swap"], made["cpus"], made["shm_size"]) == (16384, 16384, "4.0", 1024)
    assert arguments(shm_gib=None)["shm_size"] == 64


@each_row(("cpu", "text"), [(1, "1.0"), (0.5, "0.5"), (0.25, "0.25"), (1.05, "1.05"), (10, "10."), (10.5, "10.5")])
def test_cores_are_written_as_the_provider_reads_them_back(cpu: float, text: str) -> None:
    assert arguments(cpu=cpu)["cpus"] == text


def test_a_container_can_do_no_more_than_its_image_needs() -> None:
    made = arguments()
    assert made["capabilities"] == {"drops": ["ALL"]}
    assert made["security_opts"] == ["no-new-privileges:true"]
    assert made["ipc_mode"] == "private"
    assert made["log_opts"] == {"max-size": "10m", "max-file": "3"}


def test_gpus_are_asked_for_by_name_as_the_host_gives_them() -> None:
    by_cdi = arguments(gpus=2, devices=["GPU-a", "GPU-b"], access="cdi")["device_requests"]
    assert by_cdi == [{"driver": "cdi", "device_ids": ["nvidia.com/gpu=GPU-a", "nvidia.com/gpu=GPU-b"]}]
    by_runtime = arguments(gpus=2, devices=["GPU-a", "GPU-b"], access="runtime")["device_requests"]
    assert by_runtime == [{"driver": "nvidia", "capabilities": ["gpu"], "device_ids": ["GPU-a", "GPU-b"]}]
    assert not {"gpus", "device_requests"} & arguments().keys()


def test_whoever_holds_a_card_is_attached_to_its_network() -> None:
    made = arguments(gpus=1, devices=["0"], access="cdi", card_networks=["gpu-commons-card-0"])
    assert made["networks_advanced"] == [{"name": "gpu-commons"}, {"name": "gpu-commons-card-0"}]


def test_ports_are_declared_and_on_loopback_unless_an_address_is_given() -> None:
    ports = [
        {"name": "tensorboard", "container": 6006, "host": 16006},
        {"name": "x", "container": 1, "host": 2, "address": "10.0.0.4"},
    ]
    assert arguments(ports=ports)["ports"] == [
        {"internal": 6006, "external": 16006, "ip": "127.0.0.1", "protocol": "tcp"},
        {"internal": 1, "external": 2, "ip": "10.0.0.4", "protocol": "tcp"},
    ]
    twice = [{"name": "aa", "container": 1, "host": 16006}, {"name": "bb", "container": 2, "host": 16006}]
    assert "ports[1].host: 16006 is published twice" in refused(ports=twice)


def test_a_service_is_kept_running_and_a_batch_run_is_waited_for_and_keeps_its_log() -> None:
    assert {key: arguments()[key] for key in ("restart", "must_run")} == {"restart": "unless-stopped", "must_run": True}
    run = arguments(runs_to_end=True)
    assert {key: run[key] for key in ("restart", "must_run", "attach", "logs")} == {
        "restart": "no", "must_run": False, "attach": True, "logs": True,
    }  # fmt: skip
    again = arguments(runs_to_end=True, retries=3)
    assert (again["restart"], again["max_retry_count"]) == ("on-failure", 3)


def test_a_service_has_no_retries() -> None:
    assert "retries" in refused(retries=3)


def test_who_was_granted_no_gpu_is_kept_from_seeing_any() -> None:
    assert arguments(env={"A": "b"})["envs"] == ["A=b", "NVIDIA_VISIBLE_DEVICES=void"]
    assert arguments(env={"A": "b"}, gpus=1, devices=["0"], access="cdi")["envs"] == ["A=b"]


def test_loopback_is_published_twice_whether_it_is_written_or_not() -> None:
    written = {"name": "bb", "container": 2, "host": 16006, "address": "127.0.0.1"}
    assert "is published twice" in refused(ports=[{"name": "aa", "container": 1, "host": 16006}, written])


def test_volumes_and_folders_are_mounted_and_never_both() -> None:
    mounts = [{"volume": "logs", "target": "/logs"}, {"folder": "/data", "target": "/data", "read_only": True}]
    assert arguments(mounts=mounts)["mounts"] == [
        {"type": "volume", "source": "logs", "target": "/logs", "read_only": False},
        {"type": "bind", "source": "/data", "target": "/data", "read_only": True},
    ]
    assert "mounts[0]: " in refused(mounts=[{"volume": "logs", "folder": "/data", "target": "/logs"}])
    assert "is not an absolute path" in refused(mounts=[{"volume": "logs", "target": "logs"}])


@pytest.mark.parametrize("name", ["NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"])
def test_nobody_chooses_a_gpu_by_a_variable(name: str) -> None:
    assert f"env.{name}: " in refused(env={name: "0"})


def test_named_cards_are_as_many_as_gpus() -> None:
    assert "cards" in refused(gpus=1, cards=[0, 1])


def test_labels_say_whose_it_is() -> None:
    assert arguments()["labels"] == [
        {"label": "gpu-commons.org/pool", "value": "box"},
        {"label": "gpu-commons.org/image", "value": "perceptron"},
    ]
