"""GPU feature discovery and what labels nodes for it: which pod may do what."""

from __future__ import annotations

from typing import Any

from platforms.kubernetes import feature_discovery
from platforms.kubernetes.runtime import daemon_sets, deployments, discovery_pod

IMAGES = {"device_plugin_image": "p", "node_feature_discovery_image": "n"}
RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


def labeller() -> dict[str, Any]:
    pod: dict[str, Any] = deployments(IMAGES)["node-feature-discovery"]["template"]["spec"]
    return pod


def rules(kind: str) -> list[tuple[str, str]]:
    """What a role allows: `nodes: get list`."""
    (role,) = [made for each, _, made in feature_discovery.access("gpu-runtime") if each == kind]
    return [(*rule["resources"], " ".join(rule["verbs"])) for rule in role["rules"]]


def test_without_an_image_of_node_feature_discovery_neither_runs() -> None:
    assert sorted(daemon_sets({"device_plugin_image": "p"})) == ["device-plugin"]
    assert deployments({"device_plugin_image": "p"}) == {}
    assert sorted(daemon_sets(IMAGES)) == ["device-plugin", "gpu-feature-discovery"]
    assert sorted(deployments(IMAGES)) == ["node-feature-discovery"]


def test_feature_discovery_is_a_program_of_the_device_plugins_image_and_sees_every_gpu_of_its_node() -> None:
    pod = discovery_pod("p", ["t4"])
    (container,) = pod["containers"]
    assert (container["image"], container["command"]) == ("p", ["gpu-feature-discovery"])
    assert pod["runtimeClassName"] == "nvidia"
    assert {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"} in container["env"]
    assert "volumes" not in pod


def test_every_container_is_as_the_standard_for_restricted_pods_wants_it() -> None:
    containers = [*discovery_pod("p")["containers"], *labeller()["containers"]]
    assert [each["name"] for each in containers] == ["gpu-feature-discovery", "nfd-master", "nfd-gc"]
    for each in containers:
        assert RESTRICTED.items() <= each["securityContext"].items()
        assert each["securityContext"]["readOnlyRootFilesystem"]


def test_a_pod_on_a_gpu_node_writes_what_it_found_and_changes_no_node() -> None:
    assert rules("Role") == [("nodefeatures", "create get update")]
    assert rules("ClusterRole") == [
        ("nodes", "get list patch watch"),
        ("nodefeatures", "delete list watch"),
        ("nodefeaturerules", "list watch"),
    ]
    bound = {
        kind: (made["roleRef"]["name"], [each["name"] for each in made["subjects"]])
        for kind, _, made in feature_discovery.access("gpu-runtime")
        if kind.endswith("Binding")
    }
    assert bound == {
        "RoleBinding": ("gpu-feature-discovery", ["gpu-feature-discovery"]),
        "ClusterRoleBinding": ("gpu-runtime-node-feature-discovery", ["node-feature-discovery"]),
    }
    assert (discovery_pod("p")["serviceAccountName"], labeller()["serviceAccountName"]) == (
        "gpu-feature-discovery",
        "node-feature-discovery",
    )


def test_only_labels_of_nvidia_reach_a_node() -> None:
    (master,) = [each for each in labeller()["containers"] if each["name"] == "nfd-master"]
    assert master["command"][-2:] == ["-deny-label-ns=*", "-extra-label-ns=nvidia.com"]


def test_its_definitions_hold_labels_and_neither_features_nor_rules() -> None:
    specs = {
        name: made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"].get("properties")
        for name, made in feature_discovery.definitions().items()
    }
    assert specs == {
        "nodefeatures.nfd.k8s-sigs.io": {"labels": {"type": "object", "additionalProperties": {"type": "string"}}},
        "nodefeaturerules.nfd.k8s-sigs.io": None,
    }


def test_it_finds_a_node_where_all_have_gpus_and_never_runs_twice() -> None:
    assert {"key": "nvidia.com/gpu", "operator": "Exists"} in labeller()["tolerations"]
    spec = deployments(IMAGES)["node-feature-discovery"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
