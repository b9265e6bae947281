"""A lab of its own for a stack of kind `eks`, with the real node and with an AWS that can be queried."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import boto3
from own_lab import OwnLab, own_lab

from lab.servers import moto


class AwsLab(OwnLab):
    """A stack in it, and its AWS."""

    def aws(self, service: str) -> Any:
        """A client of the lab's AWS."""
        words = moto.environment(self.instance)
        return boto3.client(
            service,
            endpoint_url=words["AWS_ENDPOINT_URL"],
            region_name=words["AWS_REGION"],
            aws_access_key_id=words["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=words["AWS_SECRET_ACCESS_KEY"],
        )

    def assert_empty(self) -> None:
        """Nothing of the stack is left in AWS."""
        assert self.aws("eks").list_clusters()["clusters"] == []
        assert self.aws("iam").list_roles()["Roles"] == []
        assert self.aws("iam").list_instance_profiles()["InstanceProfiles"] == []
        ec2 = self.aws("ec2")
        assert ec2.describe_launch_templates()["LaunchTemplates"] == []
        assert ec2.describe_addresses()["Addresses"] == []
        assert [vpc for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]] == []
        assert self.aws("autoscaling").describe_auto_scaling_groups()["AutoScalingGroups"] == []


@contextmanager
def aws_lab(stack: str) -> Iterator[AwsLab]:
    """That stack, up."""
    with own_lab(stack) as lab:
        yield AwsLab(lab.stack, lab.output)
