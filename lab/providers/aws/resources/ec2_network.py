"""Networks: VPC, subnets, gateways and their addresses. Terraform's names and rules, which are Pulumi's too.

Sources: pulumi.com/registry/packages/aws/api-docs/ec2 and github.com/hashicorp/terraform-provider-aws,
internal/service/ec2/vpc_*.go (which change needs a new resource: `ForceNew`).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from lab.providers.aws.declarations import (
    REGION,
    TAGS,
    Call,
    Input,
    Read,
    Resource,
    Scope,
    Wait,
    all_of,
    fixed,
    required,
)
from lab.providers.aws.resources.ec2_tags import TAGGING, arn, tags_of
from lab.providers.values import Properties

ATTRIBUTES: Final = ("enableDnsSupport", "enableDnsHostnames")
OF_VPC: Final = [{"name": "vpc-id", "values": ["$id"]}]

VPC: Final = Resource(
    "aws:ec2/vpc:Vpc",
    service="ec2",
    inputs={
        "cidrBlock": fixed(is_kept=True),
        "instanceTenancy": Input(replaces=True, default="default"),
        "enableDnsSupport": Input(default=True),
        "enableDnsHostnames": Input(is_kept=True),
        "region": REGION,
        "tags": TAGS,
    },
    create=Call("CreateVpc", all_of("cidrBlock", "instanceTenancy", tagSpecifications=tags_of("vpc"))),
    identifier="vpc.vpcId",
    completes=(
        modify := tuple(
            Call("ModifyVpcAttribute", {"vpcId": "$id", name: {"value": f"${name}"}}, when=(name,))
            for name in ATTRIBUTES
        )
    ),
    updates=modify,
    reads=(
        Read("DescribeVpcs", {"vpcIds": ["$id"]}, "vpcs[0]"),
        *(
            Read("DescribeVpcAttribute", {"vpcId": "$id", "attribute": name}, f"{name}.value", into=name)
            for name in ATTRIBUTES
        ),
        Read(
            "DescribeRouteTables",
            {"filters": [*OF_VPC, {"name": "association.main", "values": ["true"]}]},
            "routeTables[0].routeTableId",
            into="mainRouteTableId",
        ),
        Read(
            "DescribeSecurityGroups",
            {"filters": [*OF_VPC, {"name": "group-name", "values": ["default"]}]},
            "securityGroups[0].groupId",
            into="defaultSecurityGroupId",
        ),
        Read(
            "DescribeNetworkAcls",
            {"filters": [*OF_VPC, {"name": "default", "values": ["true"]}]},
            "networkAcls[0].networkAclId",
            into="defaultNetworkAclId",
        ),
    ),
    delete=(Call("DeleteVpc", {"vpcId": "$id"}),),
    gone=("InvalidVpcID.NotFound",),
    outputs={
        "arn": arn("vpc"),
        "ownerId": "ownerId",
        "dhcpOptionsId": "dhcpOptionsId",
        "mainRouteTableId": "mainRouteTableId",
        "defaultRouteTableId": "mainRouteTableId",
        "defaultSecurityGroupId": "defaultSecurityGroupId",
        "defaultNetworkAclId": "defaultNetworkAclId",
    },
    tagging=TAGGING,
)

SUBNET: Final = Resource(
    "aws:ec2/subnet:Subnet",
    service="ec2",
    inputs={
        "vpcId": required(replaces=True),
        "cidrBlock": fixed(is_kept=True),
        "availabilityZone": fixed(is_kept=True),
        "availabilityZoneId": fixed(is_kept=True),
        "mapPublicIpOnLaunch": Input(default=False),
        "region": REGION,
        "tags": TAGS,
    },
    create=Call(
        "CreateSubnet",
        all_of("vpcId", "cidrBlock", "availabilityZone", "availabilityZoneId", tagSpecifications=tags_of("subnet")),
    ),
    identifier="subnet.subnetId",
    completes=(
        public := (
            Call(
                "ModifySubnetAttribute",
                {"subnetId": "$id", "mapPublicIpOnLaunch": {"value": "$mapPublicIpOnLaunch"}},
                when=("mapPublicIpOnLaunch",),
            ),
        )
    ),
    updates=public,
    reads=(Read("DescribeSubnets", {"subnetIds": ["$id"]}, "subnets[0]"),),
    delete=(Call("DeleteSubnet", {"subnetId": "$id"}),),
    gone=("InvalidSubnetID.NotFound",),
    outputs={"arn": arn("subnet"), "ownerId": "ownerId"},
    tagging=TAGGING,
)


def _left(scope: Scope) -> Iterable[Properties]:
    """The VPC that a gateway leaves, if any."""
    before = (scope.old or scope.state).get("vpcId")
    return ({"leftVpcId": before},) if before else ()


def _joined(scope: Scope) -> Iterable[Properties]:
    return ({},) if scope.new.get("vpcId") else ()


ATTACH: Final = Call(
    "AttachInternetGateway", {"internetGatewayId": "$id", "vpcId": "$vpcId"}, when=("vpcId",), each=_joined
)
DETACH: Final = Call(
    "DetachInternetGateway",
    {"internetGatewayId": "$id", "vpcId": "$leftVpcId"},
    when=("vpcId",),
    each=_left,
    forgives=("Gateway.NotAttached",),
)

INTERNET_GATEWAY: Final = Resource(
    "aws:ec2/internetGateway:InternetGateway",
    service="ec2",
    inputs={"vpcId": Input(read="attachments[0].vpcId"), "region": REGION, "tags": TAGS},
    create=Call("CreateInternetGateway", {"tagSpecifications": tags_of("internet-gateway")}),
    identifier="internetGateway.internetGatewayId",
    completes=(ATTACH,),
    updates=(DETACH, ATTACH),
    reads=(Read("DescribeInternetGateways", {"internetGatewayIds": ["$id"]}, "internetGateways[0]"),),
    delete=(DETACH, Call("DeleteInternetGateway", {"internetGatewayId": "$id"})),
    gone=("InvalidInternetGatewayID.NotFound",),
    outputs={"arn": arn("internet-gateway"), "ownerId": "ownerId"},
    tagging=TAGGING,
)

EIP: Final = Resource(
    "aws:ec2/eip:Eip",
    service="ec2",
    inputs={"domain": Input(replaces=True, is_kept=True, default="vpc"), "region": REGION, "tags": TAGS},
    create=Call("AllocateAddress", all_of("domain", tagSpecifications=tags_of("elastic-ip"))),
    identifier="allocationId",
    reads=(Read("DescribeAddresses", {"allocationIds": ["$id"]}, "addresses[0]"),),
    delete=(Call("ReleaseAddress", {"allocationId": "$id"}),),
    gone=("InvalidAllocationID.NotFound",),
    outputs={"arn": arn("elastic-ip"), "allocationId": "allocationId", "publicIp": "publicIp"},
    tagging=TAGGING,
)

NAT_GATEWAY: Final = Resource(
    "aws:ec2/natGateway:NatGateway",
    service="ec2",
    inputs={
        "subnetId": required(replaces=True),
        "allocationId": fixed(read="natGatewayAddresses[0].allocationId"),
        "connectivityType": Input(replaces=True, default="public"),
        "region": REGION,
        "tags": TAGS,
    },
    create=Call(
        "CreateNatGateway",
        all_of("subnetId", "allocationId", "connectivityType", tagSpecifications=tags_of("natgateway")),
    ),
    identifier="natGateway.natGatewayId",
    # AWS shows a deleted one for another hour.
    reads=(
        Read("DescribeNatGateways", {"natGatewayIds": ["$id"]}, "natGateways[?!starts_with(state, 'delet')] | [0]"),
    ),
    delete=(Call("DeleteNatGateway", {"natGatewayId": "$id"}),),
    gone=("NatGatewayNotFound", "NatGatewayMalformed"),
    outputs={
        "networkInterfaceId": "natGatewayAddresses[0].networkInterfaceId",
        "privateIp": "natGatewayAddresses[0].privateIp",
        "publicIp": "natGatewayAddresses[0].publicIp",
    },
    wait=Wait("state", ("available",), ("failed",)),
    tagging=TAGGING,
)
