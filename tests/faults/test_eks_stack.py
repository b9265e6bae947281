"""The stack on EKS comes up in a lab without an account, stays as it is, and leaves nothing.

It has the real node, which there is once on a machine: a hub keeps its users on a volume.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from lab import engine, processes
from lab.cluster import Cluster
from lab.instance import Instance, find_instance
from lab.servers import moto
from lab.toolchain import Toolchain

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1500)]
PROJECT = Path(__file__).parents[2]
LAB = [sys.executable, "-m", "lab", "--instance", "eks"]


@pytest.fixture(scope="module")
def state_home() -> Iterator[None]:
    """A folder with a short path, because the builder's socket lies below it."""
    before = os.environ.get("XDG_STATE_HOME")
    with tempfile.TemporaryDirectory(prefix="gc-") as folder:
        os.environ["XDG_STATE_HOME"] = folder
        try:
            yield
        finally:
            processes.run([*LAB, "clean"], cwd=PROJECT)
            os.environ.pop("XDG_STATE_HOME")
            if before is not None:
                os.environ["XDG_STATE_HOME"] = before


@pytest.fixture(scope="module")
def said(state_home: None) -> str:  # noqa: ARG001 - it is there while the lab runs
    return processes.run([*LAB, "up", "--stack", "eks-g6"], cwd=PROJECT, timeout_s=1200)


def aws(instance: Instance, service: str) -> Any:
    words = moto.environment(instance)
    return boto3.client(
        service,
        endpoint_url=words["AWS_ENDPOINT_URL"],
        region_name=words["AWS_REGION"],
        aws_access_key_id=words["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=words["AWS_SECRET_ACCESS_KEY"],
    )


def test_it_ends_with_a_table_of_pools_and_no_finding(said: str) -> None:
    assert "eks-g6 is up." in said
    rows = {line.split()[0]: line for line in said.splitlines() if re.match(r" +(system|l4|l40s) ", line)}
    for word in ("g6.2xlarge", "1 x NVIDIA L4", "580.159.03", "1.34.9-20260714", "200 GiB", "$0.9776/h", "64 vCPUs"):
        assert word in rows["l4"], rows
    assert "96 vCPUs of Running On-Demand G and VT instances (L-DB2E81BA)" in said
    assert re.search(r"policies: .* looked at \d+ resources and refused none", said)
    assert "hub eks-hub answers through its Service" in said
    assert re.search(r"AWS is a stand-in: moto answered \d+ calls, the lab's own EKS \d+", said)


@pytest.mark.usefixtures("said")
def test_the_group_in_aws_is_what_the_stack_asks_for() -> None:
    eks = aws(find_instance("eks"), "eks")
    (name,) = eks.list_clusters()["clusters"]
    found = {
        group["labels"]["gpu-commons.org/pool"]: group
        for each in eks.list_nodegroups(clusterName=name)["nodegroups"]
        if (group := eks.describe_nodegroup(clusterName=name, nodegroupName=each)["nodegroup"])
    }
    assert sorted(found) == ["l4", "l40s", "system"]
    assert found["l4"]["scalingConfig"] == {"minSize": 0, "maxSize": 8, "desiredSize": 1}
    assert found["l4"]["amiType"] == "AL2023_x86_64_NVIDIA"
    assert found["l4"]["taints"] == [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    assert "taints" not in found["system"] or not found["system"]["taints"]


@pytest.mark.usefixtures("said")
def test_the_instances_that_groups_begin_with_are_nodes_with_the_labels_of_their_group() -> None:
    with Cluster(find_instance("eks")) as cluster:
        nodes = {node["metadata"]["name"]: node for node in cluster.nodes()}
    assert sorted(nodes) == ["l4-1", "system-1"]
    assert nodes["l4-1"]["metadata"]["labels"]["gpu-commons.org/driver"] == "580.159.03"
    assert "nvidia.com/gpu" in {taint["key"] for taint in nodes["l4-1"]["spec"]["taints"]}


def test_the_job_really_runs_on_an_instance_with_a_gpu(said: str) -> None:
    assert "l4-1 really runs pods" in said
    assert "the hub runs in pool l4, not in system: there is one real node" in said
    with Cluster(find_instance("eks")) as cluster:
        (pod,) = [each for each in cluster.pods() if each["metadata"]["namespace"] == "batch"]
        log = cluster.text(f"/api/v1/namespaces/batch/pods/{pod['metadata']['name']}/log")
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("l4-1", "Succeeded")
    assert log.splitlines()[-1] == "gpu-smoke done"


@pytest.mark.usefixtures("said")
def test_a_second_run_changes_nothing_and_destroy_leaves_nothing_in_aws() -> None:
    again = processes.run([*LAB, "up", "--stack", "eks-g6"], cwd=PROJECT, timeout_s=600)
    assert re.search(r"^ +\d+ unchanged in", again, re.MULTILINE), again[-2000:]
    assert not re.search(r"\d+ (created|updated|replaced|deleted)", again)
    instance, tools = find_instance("eks"), Toolchain()
    env = {**os.environ, **engine.environment(instance, tools)}
    pulumi = [engine.program(instance, tools), "destroy", "--stack", "eks-g6", "--yes", "--skip-preview"]
    processes.run(pulumi, cwd=PROJECT, env=env, timeout_s=600)
    assert aws(instance, "eks").list_clusters()["clusters"] == []
    assert aws(instance, "iam").list_roles()["Roles"] == []
    ec2 = aws(instance, "ec2")
    assert ec2.describe_launch_templates()["LaunchTemplates"] == []
    assert [vpc for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]] == []
    assert aws(instance, "autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"] == []
