"""The life of a fleet in a stack: no change, another driver, away again. That it is right: tests/e2e/test_fleet.py."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from convergence import RESOURCES

pytestmark = pytest.mark.lab

if TYPE_CHECKING:
    from second_lab import Lab, Settings


def changed_labels(before: dict[str, Any], after: dict[str, Any]) -> set[tuple[str, str, str | None, str | None]]:
    """(node, label, old value, new value) of each label that is another one now."""
    return {
        (node, key, old.get(key), new.get(key))
        for node in before.keys() | after.keys()
        for old, new in [(before[node]["labels"], after[node]["labels"])]
        for key in old.keys() | new.keys()
        if old.get(key) != new.get(key)
    }


def test_a_refresh_straight_after_an_update_shows_no_change(deployed: Lab) -> None:
    deployed.pulumi("refresh", "--preview-only", "--expect-no-changes").succeeded()


def test_another_driver_of_one_pool_changes_one_label_of_one_node(deployed: Lab, stack: Settings) -> None:
    before = deployed.nodes()
    assert f"{RESOURCES} unchanged" in deployed.pulumi("preview", "--expect-no-changes").succeeded()
    pool = stack["config"]["gpu-commons:fleet"]["pools"][2]
    assert pool["name"] == "gtx1070ti"
    pool["driver"] = "470.57.02"
    deployed.write(stack)

    preview = deployed.pulumi("preview").succeeded()
    assert "~ 2 to update" in preview  # the pool and its patch
    assert f"{RESOURCES - 2} unchanged" in preview
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
