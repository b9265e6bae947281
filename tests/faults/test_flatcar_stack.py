"""The stack on Flatcar survives the end of the lab's AWS.

It has the real node, which there is once on a machine.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from aws_lab import AwsLab
from own_lab import changes

from lab import processes
from lab.instance import LabError
from lab.servers import moto
from tests.stacks.stack_flatcar_ec2 import CONTRACT

pytestmark = [pytest.mark.lab, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def lab() -> Iterator[AwsLab]:
    with CONTRACT.new_lab(CONTRACT.stack) as lab:
        yield lab


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
