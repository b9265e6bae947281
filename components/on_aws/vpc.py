"""Vpc: a small network for a cluster: private subnets for nodes, a way out, and S3 (where ECR's layers lie) inside."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from pulumi_aws import ec2

from aws.network import plan


class VpcArgs(TypedDict):
    """Arguments of Vpc."""

    cidr: str
    """Addresses of the VPC, such as 10.0.0.0/16."""
    zones: Sequence[str]
    """Availability zones, each with a private and a public subnet."""
    cluster_name: str
    """Cluster that uses the network: load balancers find their subnets by it."""
    tags: NotRequired[Mapping[str, str]]
    """Tags of everything that is made."""


class Vpc(pulumi.ComponentResource):
    """A VPC with one NAT gateway. Nodes have no public address; layers of ECR images come through a gateway endpoint,
    which costs nothing and passes the NAT gateway by.
    """

    private_subnet_ids: pulumi.Output[Sequence[str]]
    """Subnets of the nodes, one in each zone."""

    def __init__(self, name: str, args: VpcArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu-commons:index:Vpc", name, {**args}, opts)
        child = pulumi.ResourceOptions(parent=self)

        def tags(called: str, **more: str) -> dict[str, str]:
            return {**(args.get("tags") or {}), "Name": called, **more}

        vpc = ec2.Vpc(
            name,
            cidr_block=args["cidr"],
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=tags(name),
            opts=child,
        )
        gateway = ec2.InternetGateway(name, vpc_id=vpc.id, tags=tags(name), opts=child)
        public = ec2.RouteTable(
            f"{name}-public",
            vpc_id=vpc.id,
            routes=[{"cidr_block": "0.0.0.0/0", "gateway_id": gateway.id}],
            tags=tags(f"{name}-public"),
            opts=child,
        )
        private: list[Any] = []
        first_public = None
        for zone in plan(args["cidr"], tuple(args["zones"])):
            made: dict[str, ec2.Subnet] = {}
            for kind, cidr, role in (("public", zone.public, "elb"), ("private", zone.private, "internal-elb")):
                made[kind] = ec2.Subnet(
                    f"{name}-{kind}-{zone.name}",
                    vpc_id=vpc.id,
                    cidr_block=cidr,
                    availability_zone=zone.name,
                    map_public_ip_on_launch=False,
                    tags=tags(f"{name}-{kind}-{zone.name}", **{f"kubernetes.io/role/{role}": "1"}),
                    opts=child,
                )
            first_public = first_public or made["public"]
            ec2.RouteTableAssociation(
                f"{name}-public-{zone.name}", route_table_id=public.id, subnet_id=made["public"].id, opts=child
            )
            private.append((zone.name, made["private"]))
        if first_public is None:
            raise ValueError(f"{name}: a network needs zones")
        address = ec2.Eip(f"{name}-nat", domain="vpc", tags=tags(f"{name}-nat"), opts=child)
        way_out = ec2.NatGateway(
            name,
            allocation_id=address.id,
            subnet_id=first_public.id,
            tags=tags(name),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[gateway]),
        )
        inside = ec2.RouteTable(
            f"{name}-private",
            vpc_id=vpc.id,
            routes=[{"cidr_block": "0.0.0.0/0", "nat_gateway_id": way_out.id}],
            tags=tags(f"{name}-private"),
            opts=child,
        )
        associations = [
            ec2.RouteTableAssociation(
                f"{name}-private-{zone}", route_table_id=inside.id, subnet_id=subnet.id, opts=child
            )
            for zone, subnet in private
        ]
        region = args["zones"][0][:-1]
        ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=vpc.id,
            service_name=f"com.amazonaws.{region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[inside.id],
            tags=tags(f"{name}-s3"),
            opts=child,
        )
        # A node that starts before its route out exists never joins: whoever uses a subnet waits for its route.
        ids = [
            pulumi.Output.all(subnet.id, each.id).apply(lambda known: known[0])
            for (_, subnet), each in zip(private, associations, strict=True)
        ]
        self.private_subnet_ids = pulumi.Output.all(*ids)
        self.register_outputs({"private_subnet_ids": self.private_subnet_ids})
