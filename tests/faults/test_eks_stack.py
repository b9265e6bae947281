"""The stack on EKS comes up in a lab without an account, stays as it is, and leaves nothing.

It has the real node, which there is once on a machine: a hub keeps its users on a volume.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from aws_lab import AwsLab, aws_lab
from own_lab import changes

from lab.cluster import Cluster

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def lab() -> Iterator[AwsLab]:
    with aws_lab("eks-g6") as lab:
        yield lab


def test_it_ends_with_a_table_of_pools_and_no_finding(lab: AwsLab) -> None:
    output = lab.output
    assert "eks-g6 is up." in output
    rows = {line.split()[0]: line for line in output.splitlines() if re.match(r" +(system|l4|l40s) ", line)}
    for word in ("g6.2xlarge", "1 x NVIDIA L4", "580.159.03", "1.34.9-20260714", "200 GiB", "$0.9776/h", "64 vCPUs"):
        assert word in rows["l4"], rows
    assert "96 vCPUs of Running On-Demand G and VT instances (L-DB2E81BA)" in output
    assert re.search(r"policies: .* looked at \d+ resources and refused none", output)
    assert "hub eks-hub answers through its Service" in output
    assert re.search(r"AWS is a stand-in: moto answered \d+ calls, the lab's own EKS \d+", output)


def test_the_group_in_aws_is_what_the_stack_asks_for(lab: AwsLab) -> None:
    eks = lab.aws("eks")
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


def test_the_instances_that_groups_begin_with_are_nodes_with_the_labels_of_their_group(lab: AwsLab) -> None:
    with Cluster(lab.instance) as cluster:
        nodes = {node["metadata"]["name"]: node for node in cluster.nodes()}
    assert sorted(nodes) == ["l4-1", "system-1"]
    assert nodes["l4-1"]["metadata"]["labels"]["gpu-commons.org/driver"] == "580.159.03"
    assert "nvidia.com/gpu" in {taint["key"] for taint in nodes["l4-1"]["spec"]["taints"]}


def test_the_job_really_runs_on_an_instance_with_a_gpu(lab: AwsLab) -> None:
    assert "l4-1 really runs pods" in lab.output
    assert "the hub runs in pool l4, not in system: there is one real node" in lab.output
    with Cluster(lab.instance) as cluster:
        (pod,) = [each for each in cluster.pods() if each["metadata"]["namespace"] == "batch"]
        log = cluster.text(f"/api/v1/namespaces/batch/pods/{pod['metadata']['name']}/log")
    assert (pod["spec"]["nodeName"], pod["status"]["phase"]) == ("l4-1", "Succeeded")
    assert log.splitlines()[-1] == "gpu-smoke done"


def test_a_second_run_changes_nothing_and_destroy_leaves_nothing_in_aws(lab: AwsLab) -> None:
    assert not changes(lab.up())
    lab.pulumi("destroy", "--yes", "--skip-preview")
    lab.assert_empty()
