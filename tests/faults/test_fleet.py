"""The life of a fleet in a stack: up, no change, another driver, away again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

pytestmark = pytest.mark.lab

if TYPE_CHECKING:
    from second_lab import Lab, Settings

GPU_TAINT = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
NODES = [
    *("n01", "n02", "n03", "n04", "n05", "n06", "n07", "n08", "n10", "n11", "n12"),
    *("n18", "n21", "n22", "n24"),
]


def ours(labels: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key.startswith("gpu-commons.org/")}


def changed_labels(before: dict[str, Any], after: dict[str, Any]) -> set[tuple[str, str, str | None, str | None]]:
    """(node, label, old value, new value) of each label that is another one now."""
    return {
        (node, key, old.get(key), new.get(key))
        for node in before.keys() | after.keys()
        for old, new in [(before[node]["labels"], after[node]["labels"])]
        for key in old.keys() | new.keys()
        if old.get(key) != new.get(key)
    }


def test_every_node_of_a_pool_gets_its_labels_and_the_gpu_taint(deployed: Lab) -> None:
    nodes = deployed.nodes()
    assert sorted(nodes) == NODES
    assert ours(nodes["n10"]["labels"]) == {
        "gpu-commons.org/pool": "gtx1070ti",
        "gpu-commons.org/driver": "418.88",
        "gpu-commons.org/container-toolkit": "1.7.0",
    }
    assert ours(nodes["n21"]["labels"]) == {
        "gpu-commons.org/pool": "rtx2080ti",
        "gpu-commons.org/driver": "418.88",
        "gpu-commons.org/container-toolkit": "1.7.0",
    }
    assert nodes["n10"]["labels"]["nvidia.com/gpu.product"] == "GeForce-GTX-1070-Ti"
    assert nodes["n21"]["labels"]["nvidia.com/gpu.product"] == "GeForce-RTX-2080-Ti"
    assert all(node["spec"]["taints"] == [GPU_TAINT] for node in nodes.values())


def test_a_refresh_straight_after_an_update_shows_no_change(deployed: Lab) -> None:
    deployed.pulumi("refresh", "--preview-only", "--expect-no-changes").succeeded()


def test_another_driver_of_one_pool_changes_one_label_of_one_node(deployed: Lab, stack: Settings) -> None:
    before = deployed.nodes()
    assert "31 unchanged" in deployed.pulumi("preview", "--expect-no-changes").succeeded()
    pool = stack["config"]["gpu-commons:fleet"]["pools"][2]
    assert pool["name"] == "gtx1070ti"
    pool["driver"] = "470.57.02"
    deployed.write(stack)

    preview = deployed.pulumi("preview").succeeded()
    assert "~ 2 to update" in preview  # the pool and its patch
    assert "29 unchanged" in preview
    assert "driver 470.57.02 is declared, but n10 reports 418.88" in preview
    assert deployed.nodes() == before

    deployed.up().succeeded()
    assert changed_labels(before, deployed.nodes()) == {("n10", "gpu-commons.org/driver", "418.88", "470.57.02")}


def test_destroy_removes_all_that_was_made_and_leaves_the_nodes_as_they_were(deployed: Lab) -> None:
    assert deployed.nodes() != deployed.fresh_nodes
    deployed.pulumi("destroy", "--yes", "--skip-preview").succeeded()
    assert deployed.resources() == {}
    assert deployed.items("/apis/apps/v1/daemonsets") == {}
    assert deployed.items("/apis/batch/v1/jobs") == {}
    assert deployed.items("/apis/node.k8s.io/v1/runtimeclasses") == {}
    assert {"batch", "gpu-runtime"}.isdisjoint(deployed.items("/api/v1/namespaces"))
    assert deployed.items("/api/v1/pods") == {}
    assert deployed.nodes() == deployed.fresh_nodes
