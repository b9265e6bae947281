"""EKS's calls to the account's other services: subnets, launch templates, and resources that it creates there.

They use HTTP like any client, so nothing here knows how moto stores anything.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import botocore.session
from botocore.exceptions import ClientError

from lab.aws_emulator.faults import ServiceFault

Values = dict[str, Any]
INVALID = "InvalidParameterException"
ACCOUNT = "123456789012"  # moto's


class Cloud(Protocol):
    """The account around EKS, in one region."""

    def subnets(self, ids: Sequence[str]) -> list[Values]: ...
    def launch_template(self, given: Mapping[str, str]) -> Values: ...
    def role_exists(self, arn: str) -> bool: ...
    def make_security_group(self, cluster: str, vpc: str) -> str: ...
    def drop_security_group(self, group: str) -> None: ...
    def make_scaling_group(self, name: str, subnets: Sequence[str], tags: Mapping[str, str]) -> None: ...
    def drop_scaling_group(self, name: str) -> None: ...


class OverHttp:
    """The services behind `endpoint`, called with made-up credentials."""

    def __init__(self, endpoint: str, region: str) -> None:
        session = botocore.session.Session()
        keys = {"aws_access_key_id": "eks", "aws_secret_access_key": "eks"}  # made up: the emulator takes any
        self._clients = {
            name: session.create_client(name, region_name=region, endpoint_url=endpoint, **keys)
            for name in ("ec2", "iam", "autoscaling")
        }

    def subnets(self, ids: Sequence[str]) -> list[Values]:
        try:
            return list(self._clients["ec2"].describe_subnets(SubnetIds=list(ids))["Subnets"])
        except ClientError as error:
            raise ServiceFault(INVALID, error.response["Error"]["Message"]) from error

    def launch_template(self, given: Mapping[str, str]) -> Values:
        """Id, name and version of a launch template given by id or name, and its data."""
        named = {"LaunchTemplateId": given["id"]} if "id" in given else {"LaunchTemplateName": given.get("name", "")}
        version = given.get("version", "$Default")
        try:
            answer = self._clients["ec2"].describe_launch_template_versions(**named, Versions=[version])
        except ClientError as error:
            raise ServiceFault(INVALID, error.response["Error"]["Message"]) from error
        if not answer["LaunchTemplateVersions"]:
            raise ServiceFault(INVALID, f"launch template {next(iter(named.values()))} has no version {version}")
        found = answer["LaunchTemplateVersions"][0]
        return {
            "id": found["LaunchTemplateId"],
            "name": found["LaunchTemplateName"],
            "version": version if version.isdigit() else str(found["VersionNumber"]),
            "data": found["LaunchTemplateData"],
        }

    def role_exists(self, arn: str) -> bool:
        try:
            self._clients["iam"].get_role(RoleName=arn.rsplit("/", 1)[-1])
        except ClientError:
            return False
        return True

    def make_security_group(self, cluster: str, vpc: str) -> str:
        """A security group between control plane and nodes, as EKS names and tags it."""
        tags = [{"Key": f"kubernetes.io/cluster/{cluster}", "Value": "owned"}]
        made = self._clients["ec2"].create_security_group(
            GroupName=f"eks-cluster-sg-{cluster}",
            Description="EKS created security group",
            VpcId=vpc,
            TagSpecifications=[{"ResourceType": "security-group", "Tags": tags}],
        )
        return str(made["GroupId"])

    def drop_security_group(self, group: str) -> None:
        with contextlib.suppress(ClientError):  # somebody may have deleted it
            self._clients["ec2"].delete_security_group(GroupId=group)

    def make_scaling_group(self, name: str, subnets: Sequence[str], tags: Mapping[str, str]) -> None:
        """A group that can be read and tagged. It starts no instances: the lab's nodes run instead."""
        template = f"eks-{name}"
        data = {"InstanceType": "t3.medium", "ImageId": "ami-12c6146b"}
        self._clients["ec2"].create_launch_template(LaunchTemplateName=template, LaunchTemplateData=data)
        self._clients["autoscaling"].create_auto_scaling_group(
            AutoScalingGroupName=name,
            LaunchTemplate={"LaunchTemplateName": template, "Version": "$Latest"},
            MinSize=0,
            MaxSize=0,
            VPCZoneIdentifier=",".join(subnets),
            Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags.items()],
        )

    def drop_scaling_group(self, name: str) -> None:
        with contextlib.suppress(ClientError):
            self._clients["autoscaling"].delete_auto_scaling_group(AutoScalingGroupName=name, ForceDelete=True)
        with contextlib.suppress(ClientError):
            self._clients["ec2"].delete_launch_template(LaunchTemplateName=f"eks-{name}")
