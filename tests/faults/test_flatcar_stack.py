"""The stack on Flatcar comes up without a finding, survives the end of the lab's AWS, and leaves nothing.

It has the real node, which there is once on a machine.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from aws_lab import AwsLab, aws_lab
from own_lab import changes

from lab import processes
from lab.cluster import Cluster
from lab.instance import LabError
from lab.machine import driver_folders
from lab.servers import moto

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1500)]
MADE_BY_THE_LAB = [each for each in (driver_folders.MODULES, driver_folders.SHOWN) if not each.exists()]


@pytest.fixture(scope="module")
def lab() -> Iterator[AwsLab]:
    with aws_lab("flatcar-ec2") as lab:
        yield lab
    assert [each for each in MADE_BY_THE_LAB if each.exists()] == []


def test_it_ends_with_a_table_of_pools_and_no_finding(lab: AwsLab) -> None:
    assert "flatcar-ec2 is up." in lab.output
    rows = {line.split()[0]: line for line in lab.output.splitlines() if re.match(r" +(system|t4) ", line)}
    for word in ("g4dn.xlarge", "1 x Tesla T4", "580.178.04", "580-6.12.102-flatcar-flatcar4593.2.5", "24 vCPUs"):
        assert word in rows["t4"], rows
    assert re.search(r"policies: .* looked at \d+ resources and refused none", lab.output)
    assert "P-DRIVER" not in lab.output


def test_the_driver_container_is_asked_on_each_node_of_its_pool_and_stays_there(lab: AwsLab) -> None:
    with Cluster(lab.instance) as cluster:
        pods = [pod for pod in cluster.pods() if pod["metadata"]["name"].startswith("driver-t4-")]
        nodes = {node["metadata"]["name"] for node in cluster.nodes()}
        (real,) = [pod for pod in pods if pod["spec"]["nodeName"] == "t4-1"]
        log = f"/api/v1/namespaces/gpu-runtime/pods/{real['metadata']['name']}/log"
        logs = {name: cluster.text(f"{log}?container={name}") for name in ("same-kernel", "driver")}
    assert {pod["spec"]["nodeName"] for pod in pods} == nodes - {"system-1"}
    assert {pod["status"]["phase"] for pod in pods} == {"Running"}
    assert all("stands for a driver container in the lab" in each for each in logs.values())


def test_a_second_run_changes_nothing(lab: AwsLab) -> None:
    assert not changes(lab.up())


def test_without_its_aws_nothing_is_changed_and_afterwards_everything_is_made_again(lab: AwsLab) -> None:
    shell = lab.shell()
    processes.stop(lab.instance, moto.NAME)
    with pytest.raises(LabError, match=r"does not answer .*; `make up` starts the lab's AWS"):
        lab.pulumi("preview", shell=shell)
    with pytest.raises(LabError, match="AWS cannot be queried"):
        lab.pulumi("preview")
    assert changes(lab.up())
    (group,) = [
        each
        for each in lab.aws("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"]
        if any(
            tag["Key"] == "k8s.io/cluster-autoscaler/node-template/label/gpu-commons.org/pool" for tag in each["Tags"]
        )
        and each["MaxSize"] == 6
    ]
    assert (group["MinSize"], group["DesiredCapacity"]) == (0, 3)
    assert not changes(lab.up())


def test_destroy_leaves_nothing_in_aws(lab: AwsLab) -> None:
    lab.pulumi("destroy", "--yes", "--skip-preview")
    lab.assert_empty()
