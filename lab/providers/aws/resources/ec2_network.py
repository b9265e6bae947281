"""Networks: VPC, subnets, gateways, routes, endpoints. Terraform's names and rules, which are Pulumi's too.

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
    Kind,
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
    """The VPC that a gateway leaves, if it is in one."""
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
    # One that was deleted is shown for another hour.
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

TARGETS: Final = ("gatewayId", "natGatewayId", "vpcEndpointId", "transitGatewayId", "networkInterfaceId")


def _routes_to_add(scope: Scope) -> Iterable[Properties]:
    before = scope.old.get("routes") or []
    return [_route(each) for each in scope.new.get("routes") or [] if each not in before]


def _routes_to_drop(scope: Scope) -> Iterable[Properties]:
    after = scope.new.get("routes") or []
    return [_route(each) for each in scope.old.get("routes") or [] if each not in after]


def _route(route: Properties) -> Properties:
    return {**route, "destination": route.get("cidrBlock")}


ADD_ROUTES: Final = Call(
    "CreateRoute",
    {"routeTableId": "$id", "destinationCidrBlock": "$destination", **{name: f"${name}" for name in TARGETS}},
    when=("routes",),
    each=_routes_to_add,
)

ROUTE_TABLE: Final = Resource(
    "aws:ec2/routeTable:RouteTable",
    service="ec2",
    inputs={
        "vpcId": required(replaces=True),
        "routes": Input(
            Kind.SET,
            is_kept=True,
            is_shown_if_given=True,
            read="routes[?origin=='CreateRoute'].{cidrBlock: destinationCidrBlock, gatewayId: gatewayId, "
            "natGatewayId: natGatewayId, transitGatewayId: transitGatewayId, networkInterfaceId: networkInterfaceId}",
        ),
        "region": REGION,
        "tags": TAGS,
    },
    create=Call("CreateRouteTable", all_of("vpcId", tagSpecifications=tags_of("route-table"))),
    identifier="routeTable.routeTableId",
    completes=(ADD_ROUTES,),
    updates=(
        Call(
            "DeleteRoute",
            {"routeTableId": "$id", "destinationCidrBlock": "$destination"},
            when=("routes",),
            each=_routes_to_drop,
        ),
        ADD_ROUTES,
    ),
    reads=(Read("DescribeRouteTables", {"routeTableIds": ["$id"]}, "routeTables[0]"),),
    delete=(Call("DeleteRouteTable", {"routeTableId": "$id"}),),
    gone=("InvalidRouteTableID.NotFound",),
    outputs={"arn": arn("route-table"), "ownerId": "ownerId"},
    tagging=TAGGING,
)

ROUTE: Final = Resource(
    "aws:ec2/route:Route",
    service="ec2",
    inputs={
        "routeTableId": required(replaces=True),
        "destinationCidrBlock": required(replaces=True),
        **{name: Input() for name in TARGETS},
        "region": REGION,
    },
    create=Call("CreateRoute", all_of("routeTableId", "destinationCidrBlock", *TARGETS)),
    parts=("routeTableId", "destinationCidrBlock"),
    separator="_",
    updates=(Call("ReplaceRoute", all_of("routeTableId", "destinationCidrBlock", *TARGETS), when=TARGETS),),
    reads=(
        Read(
            "DescribeRouteTables",
            {"routeTableIds": ["$routeTableId"]},
            "routeTables[0].routes[?destinationCidrBlock=='{destinationCidrBlock}'] | [0]",
        ),
    ),
    delete=(Call("DeleteRoute", all_of("routeTableId", "destinationCidrBlock")),),
    gone=("InvalidRouteTableID.NotFound", "InvalidRoute.NotFound"),
    outputs={"origin": "origin", "state": "state"},
)

ROUTE_TABLE_ASSOCIATION: Final = Resource(
    "aws:ec2/routeTableAssociation:RouteTableAssociation",
    service="ec2",
    # The official provider moves an association to another table; it has another id then, and so it is a new one here.
    inputs={"routeTableId": required(replaces=True), "subnetId": fixed(), "gatewayId": fixed(), "region": REGION},
    create=Call("AssociateRouteTable", all_of("routeTableId", "subnetId", "gatewayId")),
    identifier="associationId",
    reads=(
        Read(
            "DescribeRouteTables",
            {"filters": [{"name": "association.route-table-association-id", "values": ["$id"]}]},
            "routeTables[0].associations[?routeTableAssociationId=='{id}'] | [0]",
        ),
    ),
    delete=(Call("DisassociateRouteTable", {"associationId": "$id"}),),
    gone=("InvalidAssociationID.NotFound",),
)
