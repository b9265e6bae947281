"""The daemons of GPU nodes: which of them may do what."""

from __future__ import annotations

from aws.flatcar.units import CONTAINER_ROOT
from kube.runtime import device_plugin_pod, driver_pod, persistence_pod


def test_only_what_opens_or_drives_the_gpus_of_a_node_is_privileged() -> None:
    pods = {"driver": driver_pod("d"), "device-plugin": device_plugin_pod("p"), "persistence": persistence_pod("q")}
    privileged = {
        name for name, pod in pods.items() if pod["containers"][0].get("securityContext", {}).get("privileged")
    }
    assert privileged == {"driver", "persistence"}


def test_a_driver_container_shows_its_libraries_where_the_runtime_of_the_node_looks() -> None:
    pod = driver_pod("d", ["g4dn"])
    (shown,) = [each for each in pod["containers"][0]["volumeMounts"] if "mountPropagation" in each]
    assert shown["mountPropagation"] == "Bidirectional"
    assert CONTAINER_ROOT.startswith(f"{shown['mountPath']}/")
    paths = {each["name"]: each["hostPath"]["path"] for each in pod["volumes"]}
    assert paths[shown["name"]] == shown["mountPath"]


def test_a_driver_container_reads_the_kernels_own_modules_and_changes_none() -> None:
    (modules,) = [each for each in driver_pod("d")["containers"][0]["volumeMounts"] if each.get("readOnly")]
    assert modules["mountPath"] == "/lib/modules"
    assert driver_pod("d")["tolerations"] == [{"operator": "Exists"}]  # it comes before anything else can use a GPU
