"""The daemons of GPU nodes: which of them may do what."""

from __future__ import annotations

from typing import Any

from platforms.aws.flatcar.units import CONTAINER_ROOT
from platforms.kubernetes.runtime import daemon_sets, device_plugin_pod, driver_pod, persistence_pod

KERNEL = "6.12.102-flatcar"
DRIVER = driver_pod("d", KERNEL, "t4")


def test_only_what_opens_or_drives_the_gpus_of_a_node_is_privileged() -> None:
    pods = {"driver": DRIVER, "device-plugin": device_plugin_pod("p"), "persistence": persistence_pod("q")}
    privileged = {
        name for name, pod in pods.items() if pod["containers"][0].get("securityContext", {}).get("privileged")
    }
    assert privileged == {"driver", "persistence"}


def test_a_driver_container_shows_its_libraries_where_the_runtime_of_the_node_looks() -> None:
    (shown,) = [each for each in DRIVER["containers"][0]["volumeMounts"] if "mountPropagation" in each]
    assert shown["mountPropagation"] == "Bidirectional"
    assert CONTAINER_ROOT.startswith(f"{shown['mountPath']}/")
    paths = {each["name"]: each["hostPath"]["path"] for each in DRIVER["volumes"]}
    assert paths[shown["name"]] == shown["mountPath"]


def test_a_driver_container_reads_the_kernels_own_modules_and_changes_none() -> None:
    (modules,) = [each for each in DRIVER["containers"][0]["volumeMounts"] if each.get("readOnly")]
    assert modules["mountPath"] == "/lib/modules"
    assert DRIVER["tolerations"] == [{"operator": "Exists"}]  # it comes before anything else can use a GPU


def test_before_anything_privileged_starts_the_image_says_whether_it_is_for_the_kernel_of_the_node() -> None:
    (check,) = DRIVER["initContainers"]
    (driver,) = DRIVER["containers"]
    assert check["image"] == driver["image"]
    assert check["args"] == ["check", KERNEL]
    assert "privileged" not in check["securityContext"]
    assert check["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    assert "volumeMounts" not in check


def test_a_pool_with_a_driver_container_has_it_alone_and_starts_no_other_persistence_daemon() -> None:
    drivers = [{"pool": "t4", "image": "d", "kernel": KERNEL}, {"pool": "t4-next", "image": "e", "kernel": "6.12.109"}]
    made = daemon_sets(
        {
            "device_plugin_image": "p",
            "persistence_daemon_image": "q",
            "pools": ["l4", "t4", "t4-next"],
            "driver_containers": drivers,
        }
    )
    assert {name: pools_of(spec) for name, spec in made.items()} == {
        "driver-t4": ["t4"],
        "driver-t4-next": ["t4-next"],
        "device-plugin": ["l4", "t4", "t4-next"],
        "persistence-daemon": ["l4"],
    }
    # Each of them owns its pods: no two select the same ones.
    selectors = [sorted(spec["selector"]["matchLabels"].items()) for spec in made.values()]
    assert len({tuple(each) for each in selectors}) == 4
    assert all(spec["template"]["metadata"]["labels"] == spec["selector"]["matchLabels"] for spec in made.values())


def test_only_the_persistence_daemon_looks_at_the_processes_of_its_node() -> None:
    """It has to find the one that a service of the node started; its script is tested with NVIDIA's daemon."""
    assert persistence_pod("q")["hostPID"]
    assert "hostPID" not in DRIVER
    assert "hostPID" not in device_plugin_pod("p")


def test_a_node_keeps_its_driver_until_it_is_replaced() -> None:
    """Modules in use cannot be replaced, and a node of the release before runs another kernel."""
    made = daemon_sets(
        {
            "device_plugin_image": "p",
            "pools": ["t4"],
            "driver_containers": [{"pool": "t4", "image": "d", "kernel": KERNEL}],
        }
    )
    assert made["driver-t4"]["updateStrategy"] == {"type": "OnDelete"}
    assert made["device-plugin"]["updateStrategy"]["type"] == "RollingUpdate"


def pools_of(spec: dict[str, Any]) -> list[str]:
    affinity = spec["template"]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    values: list[str] = term["matchExpressions"][0]["values"]
    return values
