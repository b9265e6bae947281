"""P-GPU: ways to the GPUs of a node beside the scheduler that are no variable and no device path."""

from __future__ import annotations

from typing import Any

import pytest
from rows import each_row

from fleet.unknown import UNKNOWN
from policies.evaluate import evaluate
from policies.finding import Level
from policies.model import Site

IMAGE = "registry.example.edu/x@sha256:" + "a" * 64
SITE = Site(nodes=(), allowed_registries=("registry.example.edu",), runtime_daemons={IMAGE: frozenset({"site/daemon"})})


def messages(level: Level, *, kind: str = "Deployment", annotations: Any = None, **pod: Any) -> list[str]:
    spec = {"containers": [{"image": IMAGE, **pod.pop("container", {})}], **pod}
    template = {"metadata": {"annotations": annotations}, "spec": spec}
    named = {"metadata": {"namespace": "site", "name": "daemon"}} if kind == "DaemonSet" else {}
    inputs = {**named, "spec": {"template": template}}
    return list(evaluate(f"kubernetes:apps/v1:{kind}", "web", inputs, SITE, frozenset({level})))


def test_an_annotation_that_adds_gpus_is_refused() -> None:
    (message,) = messages(Level.REFUSE, annotations={"cdi.k8s.io/x": "nvidia.com/gpu=all"})
    assert message.startswith("P-GPU: Deployment web: annotation cdi.k8s.io/x adds GPUs and bypasses the scheduler")
    assert messages(Level.REFUSE, annotations={"cdi.k8s.io/x": "example.com/nic=0", "x": "nvidia.com/gpu=all"}) == []


@pytest.mark.parametrize("annotations", [UNKNOWN, {"cdi.k8s.io/x": UNKNOWN}])
def test_an_annotation_that_is_not_known_yet_is_unproved(annotations: Any) -> None:
    assert messages(Level.REFUSE, annotations=annotations) == []
    (message,) = messages(Level.UNPROVED, annotations=annotations)
    assert "could not be proved: " in message


@each_row("name", ["ALL", "SYS_ADMIN", "CAP_SYS_ADMIN", "sys_admin"])
def test_a_capability_that_lets_a_process_leave_its_container_is_reported(name: str) -> None:
    (message,) = messages(Level.WARN, container={"securityContext": {"capabilities": {"add": [name]}}})
    assert "containers[0] has the capability" in message


def test_other_capabilities_are_fine_and_unknown_ones_are_unproved() -> None:
    fine = {"securityContext": {"capabilities": {"add": ["IPC_LOCK", "SYS_PTRACE"], "drop": ["ALL"]}}}
    assert [each for level in Level for each in messages(level, container=fine)] == []
    for add in (UNKNOWN, ["IPC_LOCK", UNKNOWN]):
        (message,) = messages(Level.UNPROVED, container={"securityContext": {"capabilities": {"add": add}}})
        assert "the capabilities of containers[0] are not known yet" in message


def test_sight_of_the_nodes_processes_is_reported() -> None:
    (message,) = messages(Level.WARN, hostPID=True)
    assert "hostPID exposes the processes of the node" in message
    assert messages(Level.WARN, hostPID=False) == []
    assert len(messages(Level.UNPROVED, hostPID=UNKNOWN)) == 1


@pytest.mark.parametrize("name", ["nvidia", "nvidia-cdi", "nvidia-legacy"])
def test_every_runtime_class_of_the_gpu_operator_gives_gpus(name: str) -> None:
    (message,) = messages(Level.REFUSE, runtimeClassName=name)
    assert f"asks for no GPU under the runtime class {name}" in message


@each_row("value", ["-1", "NoDevFiles", "", "void"])
def test_a_process_may_hide_all_gpus_from_itself(value: str) -> None:
    container = {"env": [{"name": "CUDA_VISIBLE_DEVICES", "value": value}]}
    assert messages(Level.REFUSE, container=container) == []
