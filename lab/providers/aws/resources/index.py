"""Every resource of the stand-in, by its type token."""

from __future__ import annotations

from typing import Final

from lab.providers.aws.declarations import Resource
from lab.providers.aws.resources import ec2_launch_template, ec2_network, eks, iam

EVERY: Final = (
    ec2_network.VPC,
    ec2_network.SUBNET,
    ec2_network.INTERNET_GATEWAY,
    ec2_network.EIP,
    ec2_network.NAT_GATEWAY,
    ec2_network.ROUTE_TABLE,
    ec2_network.ROUTE,
    ec2_network.ROUTE_TABLE_ASSOCIATION,
    ec2_launch_template.LAUNCH_TEMPLATE,
    iam.ROLE,
    iam.ROLE_POLICY,
    iam.ROLE_POLICY_ATTACHMENT,
    iam.INSTANCE_PROFILE,
    eks.CLUSTER,
    eks.NODE_GROUP,
    eks.ACCESS_ENTRY,
    eks.ACCESS_POLICY_ASSOCIATION,
    eks.ADDON,
    eks.POD_IDENTITY_ASSOCIATION,
)
RESOURCES: Final[dict[str, Resource]] = {resource.token: resource for resource in EVERY}
