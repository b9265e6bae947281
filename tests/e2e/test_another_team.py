"""Another team's program, plain Kubernetes and nothing of ours, proved by the pack with a configuration."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from running_lab import Ended, RunningLab

NAMESPACE = "e2e-another-team"
CUDA = f"nvidia/cuda:12.4.1-runtime-ubuntu22.04@sha256:{'1' * 64}"
START = """
import pulumi
import pulumi_kubernetes as kubernetes

before = []
"""
WORKLOADS = f"""
# Suspended and not waited for: no pod is ever made of it.
before.append(kubernetes.core.v1.Namespace("own", metadata={{"name": "{NAMESPACE}"}}))
kubernetes.batch.v1.Job(
    "train",
    metadata={{"name": "train", "namespace": "{NAMESPACE}", "annotations": {{"pulumi.com/skipAwait": "true"}}}},
    spec={{
        "suspend": True,
        "template": {{
            "spec": {{
                "restart_policy": "Never",
                "tolerations": [{{"key": "nvidia.com/gpu", "operator": "Exists"}}],
                "containers": [
                    {{"name": "train", "image": "{CUDA}", "resources": {{"limits": {{"nvidia.com/gpu": 1}}}}}}
                ],
            }}
        }},
    }},
    opts=pulumi.ResourceOptions(depends_on=before),
)
"""
# As GPU feature discovery labels it. Only previewed: a machine that is none would take pods.
NODE = """
labels = {"nvidia.com/gpu.product": "Tesla-V100-SXM2-16GB", "nvidia.com/cuda.driver-version.full": "595.71.05"}
before.append(kubernetes.core.v1.Node("gpu1", metadata={"name": "e2e-another-gpu1", "labels": labels}))
"""


@dataclass(frozen=True)
class Team:
    """A project in a folder of its own, with a state of its own."""

    lab: RunningLab
    folder: Path

    def configuration(self, **keys: Any) -> str:
        """A file for --policy-pack-config."""
        file = self.folder / "pack.json"
        file.write_text(json.dumps({"workloads": keys}))
        return str(file)

    def on_driver(self, driver: str) -> str:
        """The same, for a fleet of V100s on a driver."""
        pool = {
            "name": "v100",
            "gpu": "Tesla V100",
            "gpus_per_node": 4,
            "nodes": ["gpu1-gpu2"],
            "driver": driver,
            "container_toolkit": "1.17.8",
            "cpu": 64,
            "memory_gib": 256,
            "root_disk_gib": 500,
        }
        fleet = {"total_gpus": 8, "pools": [pool]}
        return self.configuration(site={"allowed_registries": ["docker.io/nvidia"]}, fleet=fleet)

    def pulumi(self, *arguments: str, **variables: str) -> Ended:
        ours = {"PULUMI_BACKEND_URL": f"file://{self.folder}/state", **variables}
        argv = (self.lab.pulumi, *arguments, "--non-interactive", "--color", "never")
        return self.lab.run(*argv, cwd=self.folder, **ours)

    def is_deployed(self) -> bool:
        return self.lab.cluster.get(f"/api/v1/namespaces/{NAMESPACE}") is not None


@pytest.fixture
def team(servers: RunningLab, tmp_path: Path) -> Iterator[Team]:
    settings = {"name": "training", "runtime": {"name": "python", "options": {"virtualenv": sys.prefix}}}
    (tmp_path / "Pulumi.yaml").write_text(yaml.safe_dump(settings))
    (tmp_path / "__main__.py").write_text(START + WORKLOADS)
    (tmp_path / "state").mkdir()
    made = Team(servers, tmp_path)
    remove(servers)  # left by a run that was killed
    ended = made.pulumi("stack", "init", "dev")
    assert ended.code == 0, ended.shown
    yield made
    remove(servers)


def remove(lab: RunningLab) -> None:
    ended = lab.run("kubectl", "delete", "namespace", NAMESPACE, "--ignore-not-found")
    assert ended.code == 0, ended.shown


def test_an_image_is_refused_on_a_driver_that_dropped_the_gpu_and_nothing_is_deployed(team: Team) -> None:
    given = team.on_driver("595.71.05")
    for command in (("preview",), ("up", "--yes", "--skip-preview")):
        ended = team.pulumi(*command, "--policy-pack-config", given)
        assert ended.code != 0
        assert "P-DRIVER: stack: pool v100: driver 595.71.05 no longer supports Tesla V100" in ended.shown
        if command[0] == "preview":
            assert f"P-RUN: Job {NAMESPACE}/train: {CUDA} does not run on pool v100 (driver 595.71.05)" in ended.shown
            assert "change: Use driver 580.x, the last branch for Tesla V100" in ended.shown
    assert not team.is_deployed()
    assert not json.loads(team.pulumi("stack", "export").out)["deployment"].get("resources")


def test_it_passes_on_the_branch_before_also_where_a_variable_names_the_configuration(team: Team) -> None:
    ended = team.pulumi("preview", PULUMI_OPTION_POLICY_PACK_CONFIG=team.on_driver("580.95.05"))
    assert ended.code == 0, ended.shown
    assert "✅ gpu-commons@v" in ended.shown


def test_without_a_configuration_it_is_refused_once_with_what_to_give(team: Team) -> None:
    ended = team.pulumi("preview")
    assert ended.code != 0
    assert ended.shown.count("P-SITE: ") == 1
    assert "Pulumi.dev.yaml does not exist, and the pack has no configuration" in ended.shown
    assert "--policy-pack-config FILE.json" in ended.shown


def test_without_a_fleet_the_nodes_that_it_makes_itself_are_its_pools(team: Team) -> None:
    (team.folder / "__main__.py").write_text(START + NODE + WORKLOADS)
    given = team.configuration(site={"allowed_registries": ["docker.io/nvidia"]})
    ended = team.pulumi("preview", "--policy-pack-config", given)
    assert ended.code != 0
    assert f"{CUDA} does not run on pool Tesla-V100-SXM2-16GB 595.71.05 (driver 595.71.05)" in ended.shown


def test_a_mistake_in_the_configuration_is_the_only_message_and_nothing_runs(team: Team) -> None:
    given = team.configuration(site={"allowed_registries": []}, policies={"levels": {"P-RUNS": "warn"}})
    ended = team.pulumi("preview", "--policy-pack-config", given)
    assert ended.code != 0
    assert ended.shown.endswith(
        "configuration of the policy pack, workloads: 1 problem\n"
        "  site.allowed_registries: a list of 0 is empty\n"
        "    give at least one: Registries that workloads may pull from: host[:port], optionally with a folder\n"
    )
    assert "Traceback" not in ended.shown
    assert "train" not in ended.shown.replace("training-dev", "")


def test_a_state_is_analysed_without_the_program(team: Team, tmp_path: Path) -> None:
    ended = team.pulumi("up", "--yes", "--skip-preview", "--policy-pack-config", team.on_driver("580.95.05"))
    assert ended.code == 0, ended.shown
    assert team.is_deployed()
    state = tmp_path / "state.json"
    state.write_text(team.pulumi("stack", "export").out)
    (tmp_path / "__main__.py").unlink()

    def analysed(driver: str) -> Ended:
        given = team.on_driver(driver)
        return team.pulumi("policy", "analyze", "--file", str(state), "--policy-pack-config", given)

    assert (passed := analysed("580.95.05")).code == 0, passed.shown
    refused = analysed("595.71.05")
    assert refused.code != 0
    assert f"P-RUN: Job {NAMESPACE}/train: {CUDA} does not run on pool v100 (driver 595.71.05)" in refused.shown
