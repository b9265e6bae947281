"""NvidiaRuntime puts the device plugin and the persistence daemon on every node of a pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from components.on_kubernetes.nvidia_runtime import NvidiaRuntime

IMAGES = {
    "device_plugin_image": "nvcr.io/nvidia/k8s-device-plugin:v0.17.1@sha256:" + "1" * 64,
    "persistence_daemon_image": "docker.io/library/busybox:1.36.1@sha256:" + "2" * 64,
}


@pytest.fixture
def daemons(recorded: Callable[..., Any]) -> dict[str, dict[str, Any]]:
    run = recorded(lambda: NvidiaRuntime("nvidia", IMAGES) and None)
    return {daemon.inputs["metadata"]["name"]: daemon.inputs for daemon in run.of_type("DaemonSet")}


def test_the_two_daemons_run_on_every_node_of_a_pool_whatever_its_taints(daemons: dict[str, dict[str, Any]]) -> None:
    assert sorted(daemons) == ["device-plugin", "persistence-daemon"]
    for daemon in daemons.values():
        pod = daemon["spec"]["template"]["spec"]
        terms = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert terms == [{"matchExpressions": [{"key": "gpu-commons.org/pool", "operator": "Exists"}]}]
        assert pod["tolerations"] == [{"operator": "Exists"}]


def test_in_a_fleet_with_nodes_without_gpus_the_daemons_run_on_the_pools_that_are_named(
    recorded: Callable[..., Any],
) -> None:
    run = recorded(lambda: NvidiaRuntime("nvidia", {**IMAGES, "pools": ["gtx1080ti", "rtx2080ti"]}) and None)
    wanted = {"key": "gpu-commons.org/pool", "operator": "In", "values": ["gtx1080ti", "rtx2080ti"]}
    for daemon in run.of_type("DaemonSet"):
        affinity = daemon.inputs["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
        terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        assert terms == [{"matchExpressions": [wanted]}]


def test_daemons_for_no_pool_are_refused(recorded: Callable[..., Any]) -> None:
    with pytest.raises(ValueError, match=r"nvidia\.pools is empty: name a pool with GPUs"):
        recorded(lambda: NvidiaRuntime("nvidia", {**IMAGES, "pools": []}) and None)


def test_only_the_persistence_daemon_is_privileged(daemons: dict[str, dict[str, Any]]) -> None:
    rights = {
        name: daemon["spec"]["template"]["spec"]["containers"][0]["securityContext"].get("privileged", False)
        for name, daemon in daemons.items()
    }
    assert rights == {"device-plugin": False, "persistence-daemon": True}


def test_pods_choose_the_runtime_by_a_class_of_that_name(recorded: Callable[..., Any]) -> None:
    run = recorded(lambda: NvidiaRuntime("nvidia", IMAGES) and None)
    runtime_class = run.only("RuntimeClass")
    assert runtime_class.inputs["metadata"]["name"] == "nvidia"
    assert runtime_class.inputs["handler"] == "nvidia"


def test_a_driver_container_is_a_daemon_of_its_pool_and_the_persistence_daemon_stays_away_from_it(
    recorded: Callable[..., Any],
) -> None:
    driver = {"pool": "t4", "image": "registry.example.edu/driver@sha256:" + "3" * 64, "kernel": "6.12.102-flatcar"}
    run = recorded(lambda: NvidiaRuntime("nvidia", {**IMAGES, "pools": ["t4"], "driver_containers": [driver]}) and None)
    made = {daemon.inputs["metadata"]["name"]: daemon.inputs for daemon in run.of_type("DaemonSet")}
    assert sorted(made) == ["device-plugin", "driver-t4"]
    pod = made["driver-t4"]["spec"]["template"]["spec"]
    assert [each["image"] for each in (*pod["initContainers"], *pod["containers"])] == [driver["image"]] * 2
    assert run.only("Namespace").inputs["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "privileged"}


def test_beside_a_driver_container_the_pools_with_gpus_are_named(recorded: Callable[..., Any]) -> None:
    driver = {"pool": "t4", "image": "registry.example.edu/driver@sha256:" + "3" * 64, "kernel": "6.12.102-flatcar"}
    with pytest.raises(ValueError, match=r"nvidia\.pools is missing: beside driver_containers, name every pool"):
        recorded(lambda: NvidiaRuntime("nvidia", {**IMAGES, "driver_containers": [driver]}) and None)


def test_feature_discovery_comes_with_its_image_after_its_definitions_and_rights(recorded: Callable[..., Any]) -> None:
    without = recorded(lambda: NvidiaRuntime("nvidia", IMAGES) and None)
    assert not [*without.of_type("CustomResourceDefinition"), *without.of_type("Deployment")]

    def names(run: Any) -> set[tuple[str, str]]:
        return {(each.type, each.name) for each in run.resources}

    nfd = "registry.k8s.io/nfd/node-feature-discovery:v0.18.3@sha256:" + "4" * 64
    args = {**IMAGES, "node_feature_discovery_image": nfd}
    run = recorded(lambda: NvidiaRuntime("nvidia", args) and None)
    added = names(run) - names(without)
    made = {
        "apiextensions.k8s.io/v1:CustomResourceDefinition": [
            "nvidia-nodefeaturerules.nfd.k8s-sigs.io",
            "nvidia-nodefeatures.nfd.k8s-sigs.io",
        ],
        "apps/v1:DaemonSet": ["nvidia-gpu-feature-discovery"],
        "apps/v1:Deployment": ["nvidia-node-feature-discovery"],
        "core/v1:ServiceAccount": ["nvidia-gpu-feature-discovery", "nvidia-node-feature-discovery"],
        "rbac.authorization.k8s.io/v1:ClusterRole": ["nvidia-node-feature-discovery"],
        "rbac.authorization.k8s.io/v1:ClusterRoleBinding": ["nvidia-node-feature-discovery"],
        "rbac.authorization.k8s.io/v1:Role": ["nvidia-gpu-feature-discovery"],
        "rbac.authorization.k8s.io/v1:RoleBinding": ["nvidia-gpu-feature-discovery"],
    }
    assert added == {(f"kubernetes:{kind}", name) for kind, names in made.items() for name in names}
    images = {each["image"] for each in run.only("Deployment").inputs["spec"]["template"]["spec"]["containers"]}
    assert images == {nfd}
