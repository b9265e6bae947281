"""The whole program on a fleet with and without GPUs: what it would make, under mocks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from settings.reading import load_stack

PROJECT = Path(__file__).parents[2]
STACK = load_stack(PROJECT / "tests" / "stacks" / "Pulumi.mixed.yaml")
POOL = "gpu-commons.org/pool"


@pytest.mark.slow
def test_what_needs_no_gpu_runs_on_nodes_without_any_and_the_rest_on_the_pools_it_names(
    recorded: Callable[..., Any], program: ModuleType
) -> None:
    nodes = {name: {"metadata": {"name": name, "labels": {}}} for name in STACK.fleet.node_names}
    run = recorded(lambda: program.deploy(STACK), existing=nodes, preview=True)

    patches = {patch.inputs["metadata"]["name"]: patch.inputs for patch in run.of_type("NodePatch")}
    assert sorted(patches) == ["c01", "c02", "n01", "n02", "n03", "n18"]
    assert patches["c01"]["metadata"]["labels"] == {POOL: "cpu"}
    assert [name for name, patch in patches.items() if "spec" not in patch] == ["c01", "c02"]
    drivers = {name: patch["metadata"]["labels"].get("gpu-commons.org/driver") for name, patch in patches.items()}
    assert [name for name, driver in drivers.items() if driver == "580.95.05"] == ["n02"]

    pods_of_the_hub = [*run.of_type("StatefulSet"), *run.of_type("Deployment")]
    assert len(pods_of_the_hub) > 1
    for each in pods_of_the_hub:
        assert each.inputs["spec"]["template"]["spec"]["nodeSelector"] == {POOL: "cpu"}, each.name
    several = {"key": POOL, "operator": "In", "values": ["gtx1080ti", "rtx2080ti"]}
    for daemon in run.of_type("DaemonSet"):
        assert several == _affinity(daemon.inputs["spec"]["template"]["spec"])
    jobs = {job.inputs["metadata"]["name"]: job.inputs["spec"]["template"]["spec"] for job in run.of_type("v1:Job")}
    assert _affinity(jobs["any-gpu"]) == several
    assert jobs["tidy"]["nodeSelector"] == {POOL: "cpu"}

    options = run.only("ConfigMap").inputs["data"]["options.json"]
    profiles = {each["slug"]: each["kubespawner_override"] for each in _profiles(options)}
    assert profiles["cpu"]["node_selector"] == {POOL: "cpu"}
    assert profiles["any-gpu"]["node_affinity_required"] == [{"matchExpressions": [several]}]


def _affinity(pod: dict[str, Any]) -> Any:
    required = pod["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    ((term,),) = (each["matchExpressions"] for each in required["nodeSelectorTerms"])
    return term


def _profiles(options: str) -> list[dict[str, Any]]:
    return list(json.loads(options)["KubeSpawner"]["profile_list"])
