"""Route tables, separate routes, and the subnets of a table.

Sources: pulumi.com/registry/packages/aws/api-docs/ec2 and github.com/hashicorp/terraform-provider-aws,
internal/service/ec2/vpc_route*.go (which change needs a new resource: `ForceNew`).
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
    all_of,
    fixed,
    required,
)
from lab.providers.aws.resources.ec2_tags import TAGGING, arn, tags_of
from lab.providers.values import Properties

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
            # A gateway endpoint adds a route to a prefix list here, without a block: that one is the endpoint's.
            read="routes[?origin=='CreateRoute' && destinationCidrBlock].{cidrBlock: destinationCidrBlock, "
            "gatewayId: gatewayId, natGatewayId: natGatewayId, transitGatewayId: transitGatewayId, "
            "networkInterfaceId: networkInterfaceId}",
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
    # The official provider moves an association to another table, which changes its id; here it is a new resource.
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
