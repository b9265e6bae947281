"""Every resource of the stand-in, by its type token."""

from __future__ import annotations

from typing import Final

from lab.providers.aws.declarations import Resource
from lab.providers.aws.resources import (
    autoscaling,
    ec2_launch_template,
    ec2_network,
    ec2_routes,
    ec2_security,
    ecr,
    eks_access,
    eks_add_ons,
    eks_cluster,
    eks_node_group,
    iam,
)

EVERY: Final = (
    ec2_network.VPC,
    ec2_network.SUBNET,
    ec2_network.INTERNET_GATEWAY,
    ec2_network.EIP,
    ec2_network.NAT_GATEWAY,
    ec2_routes.ROUTE_TABLE,
    ec2_routes.ROUTE,
    ec2_routes.ROUTE_TABLE_ASSOCIATION,
    ec2_security.VPC_ENDPOINT,
    ec2_security.SECURITY_GROUP,
    ec2_security.INGRESS_RULE,
    ec2_security.EGRESS_RULE,
    ec2_launch_template.LAUNCH_TEMPLATE,
    iam.ROLE,
    iam.ROLE_POLICY,
    iam.ROLE_POLICY_ATTACHMENT,
    iam.INSTANCE_PROFILE,
    iam.OPEN_ID_CONNECT_PROVIDER,
    eks_cluster.CLUSTER,
    eks_node_group.NODE_GROUP,
    eks_access.ACCESS_ENTRY,
    eks_access.ACCESS_POLICY_ASSOCIATION,
    eks_add_ons.ADDON,
    eks_add_ons.POD_IDENTITY_ASSOCIATION,
    autoscaling.GROUP,
    autoscaling.GROUP_TAG,
    ecr.REPOSITORY,
    ecr.LIFECYCLE_POLICY,
)
RESOURCES: Final[dict[str, Resource]] = {resource.token: resource for resource in EVERY}
