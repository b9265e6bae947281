"""A refresh straight after an update, where every read of a node finds it changed: by a heartbeat, by our own patch.

No cluster: `recorded_nodes.py` answers as the official plugin was seen to answer.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import pytest
from pulumi import automation
from recorded_nodes import patched, with_heartbeat

from components.on_kubernetes.gpu_node_pool import GpuNodePool, GpuNodePoolArgs

HERE = Path(__file__).parent
NAMES = ["n10", "n11"]


def node(name: str) -> dict[str, Any]:
    """As the API server has it before anybody patched it."""
    labels = {"kubernetes.io/hostname": name, "nvidia.com/cuda.driver-version.full": "418.88"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "uid": f"uid-of-{name}", "resourceVersion": "7", "labels": labels},
        "spec": {"podCIDR": "10.1.0.0/24"},
        "status": {"capacity": {"cpu": "8"}, "conditions": [{"type": "Ready", "status": "True"}]},
    }


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    file = tmp_path / "nodes.json"
    file.write_text(json.dumps({name: node(name) for name in NAMES}))
    return file


@pytest.fixture
def executable(nodes: Path, tmp_path: Path) -> Path:
    """In place of the plugin under test: the one that is a recording."""
    launcher = tmp_path / "recorded" / "pulumi-resource-kubernetes"
    launcher.parent.mkdir()
    program = f'PYTHONPATH="{HERE.parents[1]}" exec "{sys.executable}" "{HERE / "recorded_nodes.py"}" "{nodes}" "$@"'
    launcher.write_text(f"#!/bin/sh\n{program}\n")
    launcher.chmod(0o755)
    return launcher


@pytest.fixture
def stack(workspace: automation.LocalWorkspaceOptions) -> automation.Stack:
    return stack_of(workspace, NAMES)


def stack_of(workspace: automation.LocalWorkspaceOptions, names: list[str], driver: str = "418.88") -> automation.Stack:
    args: GpuNodePoolArgs = {
        "pool": "gtx1070ti",
        "node_names": names,
        "gpu": "GeForce GTX 1070 Ti",
        "gpus_per_node": 7,
        "driver_version": driver,
        "container_toolkit_version": "1.7.0",
    }

    def program() -> None:
        cluster = k8s.Provider("cluster", kubeconfig="{}", cluster_identifier="recorded")
        pool = GpuNodePool("gtx1070ti", args, pulumi.ResourceOptions(providers=[cluster]))
        pulumi.export("drifted", pool.drifted_nodes)

    return automation.create_or_select_stack("dev", project_name="conformance", program=program, opts=workspace)


def test_the_recording_changes_a_node_with_every_read_and_every_patch() -> None:
    before = node("n10")
    seen = [before, patched(before, {"metadata": {"labels": {"a": "b"}}}), with_heartbeat(before)]
    assert [each["metadata"]["resourceVersion"] for each in seen] == ["7", "8", "8"]
    assert seen[1]["metadata"]["labels"] == {**before["metadata"]["labels"], "a": "b"}
    assert seen[2]["status"]["conditions"][0]["lastHeartbeatTime"]


def test_a_refresh_straight_after_an_update_shows_no_change(stack: automation.Stack) -> None:
    assert (stack.up().summary.resource_changes or {}).get("create") == 5  # the stack, the provider, pool, patches
    stack.refresh(expect_no_changes=True)
    stack.preview(expect_no_changes=True)
    stack.up(expect_no_changes=True)
    stack.refresh(expect_no_changes=True)


def test_a_preview_names_a_node_that_is_not_there_and_makes_none(
    workspace: automation.LocalWorkspaceOptions, nodes: Path
) -> None:
    with pytest.raises(automation.CommandError, match="'n99' does not exist"):
        stack_of(workspace, [*NAMES, "n99"]).preview()
    assert set(json.loads(nodes.read_text())) == set(NAMES)


def test_an_update_without_a_preview_reports_that_the_patch_has_made_a_node(
    workspace: automation.LocalWorkspaceOptions,
) -> None:
    with pytest.raises(automation.CommandError, match="n99: no kubelet has ever registered") as caught:
        stack_of(workspace, [*NAMES, "n99"]).up()
    assert "Traceback" not in str(caught.value)


def test_a_preview_compares_with_what_nodes_report_now_and_a_refresh_brings_the_output_up_to_date(
    workspace: automation.LocalWorkspaceOptions, nodes: Path
) -> None:
    stack = stack_of(workspace, NAMES, driver="470.57.02")
    assert stack.up().outputs["drifted"].value == NAMES
    installed = json.loads(nodes.read_text())
    for each in installed.values():
        each["metadata"]["labels"]["nvidia.com/cuda.driver-version.full"] = "470.57.02"
    nodes.write_text(json.dumps(installed))
    assert "is declared, but" not in stack.preview().stdout
    assert stack.up().outputs["drifted"].value == NAMES, "an update remembers what the last one saw"
    stack.refresh(expect_no_changes=True)
    assert stack.up().outputs["drifted"].value == []


def test_a_preview_silently_forgets_nodes_that_an_older_version_kept_in_the_state(
    stack: automation.Stack, monkeypatch: pytest.MonkeyPatch, nodes: Path
) -> None:
    with monkeypatch.context() as older:
        older.setattr(pulumi.runtime, "is_dry_run", lambda: True)  # that version read in updates too
        stack.up()
    assert kept(stack) == ["gtx1070ti-n10-found", "gtx1070ti-n11-found"]
    before = json.loads(nodes.read_text())
    assert set(stack.preview(expect_no_changes=True).change_summary) <= {"same", "read"}
    changes = stack.up().summary.resource_changes or {}
    assert set(changes) <= {"same", "discard"}
    assert kept(stack) == []
    after = json.loads(nodes.read_text())
    assert {name: each["metadata"]["labels"] for name, each in after.items()} == {
        name: each["metadata"]["labels"] for name, each in before.items()
    }
    stack.refresh(expect_no_changes=True)


def kept(stack: automation.Stack) -> list[str]:
    resources = stack.export_stack().deployment["resources"]
    return sorted(each["urn"].rpartition("::")[2] for each in resources if each.get("external"))
