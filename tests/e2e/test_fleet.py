"""The fleet as Kubernetes sees it. Names and numbers are those of the real one, written out."""

from __future__ import annotations

import re

import pytest
from own_stack import succeeded
from running_lab import Object, RunningLab, wait_for

from lab.cluster import name_of

REAL_NODE = "n01"
GPUS = {
    "n01": 8,
    "n02": 8,
    "n03": 8,
    "n04": 8,
    "n05": 8,
    "n06": 8,
    "n07": 8,
    "n08": 8,
    "n10": 7,
    "n11": 8,
    "n12": 8,
    "n18": 8,
    "n21": 8,
    "n22": 8,
    "n24": 8,
}


@pytest.fixture(scope="module")
def nodes(lab: RunningLab) -> dict[str, Object]:
    found = {node["metadata"]["name"]: node for node in lab.cluster.nodes()}
    # The conformance suite may run beside us and makes nodes of its own.
    return {name: node for name, node in found.items() if not name.startswith("conformance-")}


def ours(node: Object) -> dict[str, str]:
    """Labels of this project and of NVIDIA, without those that say the same in other words or mark the lab."""
    others = ("kwok", "kubernetes.io", "beta.kubernetes.io")
    stated_twice = ("gpu-commons.org/lab-node", "nvidia.com/cuda.driver.", "nvidia.com/cuda.runtime.")
    return {
        key: value
        for key, value in node["metadata"]["labels"].items()
        if not key.startswith(others) and not key.startswith(stated_twice)
    }


def test_the_fleet_is_fifteen_nodes_and_all_are_ready(nodes: dict[str, Object]) -> None:
    ready = {
        name
        for name, node in nodes.items()
        if {"Ready": "True"}.items() <= {each["type"]: each["status"] for each in node["status"]["conditions"]}.items()
    }
    assert sorted(ready) == sorted(nodes) == sorted(GPUS)


def test_every_node_offers_its_gpus_119_in_all(nodes: dict[str, Object]) -> None:
    allocatable = {name: int(node["status"]["allocatable"].get("nvidia.com/gpu", 0)) for name, node in nodes.items()}
    assert allocatable == GPUS
    assert sum(allocatable.values()) == 119


def test_n10_is_the_one_node_with_seven_gtx_1070_ti(nodes: dict[str, Object]) -> None:
    assert ours(nodes["n10"]) == {
        "gpu-commons.org/pool": "gtx1070ti",
        "gpu-commons.org/driver": "418.88",
        "gpu-commons.org/container-toolkit": "1.7.0",
        "nvidia.com/gpu.product": "GeForce-GTX-1070-Ti",
        "nvidia.com/gpu.count": "7",
        "nvidia.com/gpu.replicas": "1",
        "nvidia.com/gpu.family": "pascal",
        "nvidia.com/gpu.compute.major": "6",
        "nvidia.com/gpu.compute.minor": "1",
        "nvidia.com/gpu.memory": "8192",
        "nvidia.com/gpu.mode": "compute",
        "nvidia.com/gpu.sharing-strategy": "none",
        "nvidia.com/mig.capable": "false",
        "nvidia.com/cuda.driver-version.full": "418.88",
        "nvidia.com/cuda.driver-version.major": "418",
        "nvidia.com/cuda.driver-version.minor": "88",
        "nvidia.com/cuda.driver-version.revision": "",
        "nvidia.com/cuda.runtime-version.full": "10.1",
        "nvidia.com/cuda.runtime-version.major": "10",
        "nvidia.com/cuda.runtime-version.minor": "1",
    }


def test_n21_is_one_of_four_nodes_with_eight_rtx_2080_ti(nodes: dict[str, Object]) -> None:
    assert {
        "gpu-commons.org/pool": "rtx2080ti",
        "gpu-commons.org/driver": "418.88",
        "gpu-commons.org/container-toolkit": "1.7.0",
        "nvidia.com/gpu.product": "GeForce-RTX-2080-Ti",
        "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.family": "turing",
        "nvidia.com/gpu.compute.major": "7",
        "nvidia.com/gpu.compute.minor": "5",
        "nvidia.com/gpu.memory": "11264",
    }.items() <= ours(nodes["n21"]).items()
    pool = {name for name, node in nodes.items() if ours(node).get("gpu-commons.org/pool") == "rtx2080ti"}
    assert pool == {"n18", "n21", "n22", "n24"}


def test_every_node_declares_driver_418_88_and_keeps_pods_away_that_need_no_gpu(nodes: dict[str, Object]) -> None:
    assert {name: ours(node).get("gpu-commons.org/driver") for name, node in nodes.items()} == dict.fromkeys(
        GPUS, "418.88"
    )
    taint = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]
    assert {name: node["spec"].get("taints") for name, node in nodes.items()} == dict.fromkeys(GPUS, taint)


@pytest.mark.parametrize("daemon", ["device-plugin", "persistence-daemon", "gpu-feature-discovery"])
def test_every_node_runs_one_pod_of_each_daemon(lab: RunningLab, daemon: str) -> None:
    label = ("app.kubernetes.io/component", daemon)
    pods = lab.cluster.items("/api/v1/namespaces/gpu-runtime/pods", labels=label)
    assert sorted(pod["spec"]["nodeName"] for pod in pods) == sorted(GPUS)
    waiting = {
        pod["spec"]["nodeName"]: pod["status"].get("phase")
        for pod in pods
        if not all(status["ready"] for status in pod["status"]["containerStatuses"])
    }
    assert waiting == {}


def test_the_persistence_pod_uses_the_daemon_that_the_node_runs(lab: RunningLab) -> None:
    pods = lab.cluster.items(
        "/api/v1/namespaces/gpu-runtime/pods", labels=("app.kubernetes.io/component", "persistence-daemon")
    )
    (on_it,) = [name_of(pod) for pod in pods if pod["spec"]["nodeName"] == REAL_NODE]
    log = succeeded(lab.run("kubectl", "logs", "--namespace", "gpu-runtime", on_it))
    assert re.fullmatch(r"this node runs nvidia-persistenced, process \d+: using it\n", log)


def test_n01_is_the_real_node_and_its_gpus_come_from_the_device_plugin(
    lab: RunningLab, nodes: dict[str, Object]
) -> None:
    simulated = {
        name for name, node in nodes.items() if node["status"]["nodeInfo"]["kubeletVersion"].startswith("kwok")
    }
    assert set(nodes) - simulated == {REAL_NODE}
    (plugin,) = [
        pod
        for pod in lab.cluster.items(
            "/api/v1/namespaces/gpu-runtime/pods", labels=("app.kubernetes.io/component", "device-plugin")
        )
        if pod["spec"]["nodeName"] == REAL_NODE
    ]
    log = lab.cluster.text(f"/api/v1/namespaces/gpu-runtime/pods/{plugin['metadata']['name']}/log")
    assert "Starting NVIDIA Device Plugin" in log
    # The lab writes the GPUs of simulated nodes; a kubelet writes those of its own, as the plugin reports them.
    assert writers(nodes[REAL_NODE], "nvidia.com/gpu", "status", "capacity") == {"kubelet"}


def test_the_labels_of_the_real_node_are_what_gpu_feature_discovery_found_there(lab: RunningLab) -> None:
    def discovered() -> Object | None:
        node = lab.cluster.get(f"/api/v1/nodes/{REAL_NODE}") or {}
        return node if "nvidia.com/gpu.product" in node["metadata"]["labels"] else None

    node = wait_for(discovered, what="labels of its GPUs")  # its pods may have started a moment ago
    wanted = {"nvidia.com/gpu.product": "GeForce-GTX-1080-Ti", "nvidia.com/cuda.driver-version.full": "418.88"}
    assert wanted.items() <= node["metadata"]["labels"].items()
    assert [writers(node, label, "metadata", "labels") for label in wanted] == [{"nfd-master"}] * 2


def writers(node: Object, key: str, part: str, field: str) -> set[str]:
    """Who wrote that label or amount."""
    return {
        entry["manager"]
        for entry in node["metadata"]["managedFields"]
        if f"f:{key}" in entry["fieldsV1"].get(f"f:{part}", {}).get(f"f:{field}", {})
    }
