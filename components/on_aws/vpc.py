"""Vpc: a small cluster network with private node subnets, egress, and a gateway endpoint for S3 (ECR layers)."""

from collections.abc import Callable, Sequence
from typing import Any

import pulumi
from pulumi_aws import ec2
from pulumi_aws.vpc import SecurityGroupIngressRule

from components.on_aws.eks_gpu_cluster_args import VpcArgs
from platforms.aws.cluster import DEFAULT_CIDR
from platforms.aws.network import interface_endpoints, plan

Tags = Callable[[str], dict[str, str]]


class Vpc(pulumi.ComponentResource):
    """A VPC with one NAT gateway, or with endpoints for AWS services and no Internet access.

    Nodes have no public address; ECR image layers come through a gateway endpoint, which is free and bypasses
    the NAT gateway.
    """

    private_subnet_ids: pulumi.Output[Sequence[str]]
    """Subnets of the nodes, one in each zone."""

    def __init__(self, name: str, args: VpcArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("gpu-commons:index:Vpc", name, {**args}, opts)
        child = pulumi.ResourceOptions(parent=self)
        addresses = args.get("cidr") or DEFAULT_CIDR

        def tags(called: str, **more: str) -> dict[str, str]:
            return {**(args.get("tags") or {}), "Name": called, **more}

        vpc = ec2.Vpc(
            name,
            cidr_block=addresses,
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
        for zone in plan(addresses, tuple(args["zones"])):
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
        is_closed = args.get("egress") == "endpoints"
        routes = [] if is_closed else [self._way_out(name, gateway, first_public, tags)]
        inside = ec2.RouteTable(
            f"{name}-private", vpc_id=vpc.id, routes=routes, tags=tags(f"{name}-private"), opts=child
        )
        associations = [
            ec2.RouteTableAssociation(
                f"{name}-private-{zone}", route_table_id=inside.id, subnet_id=subnet.id, opts=child
            )
            for zone, subnet in private
        ]
        s3 = ec2.VpcEndpoint(
            f"{name}-s3",
            vpc_id=vpc.id,
            service_name=f"com.amazonaws.{_region(args)}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[inside.id],
            tags=tags(f"{name}-s3"),
            opts=child,
        )
        subnets = [subnet.id for _, subnet in private]
        endpoints = [s3, *self._endpoints(name, args, vpc, subnets, tags)] if is_closed else []
        # A node that starts without egress never joins: resources that use a subnet wait for it.
        ids = [
            pulumi.Output.all(subnet.id, each.id, *(endpoint.id for endpoint in endpoints)).apply(
                lambda known: known[0]
            )
            for (_, subnet), each in zip(private, associations, strict=True)
        ]
        self.private_subnet_ids = pulumi.Output.all(*ids)
        self.register_outputs({"private_subnet_ids": self.private_subnet_ids})

    def _way_out(self, name: str, gateway: ec2.InternetGateway, subnet: ec2.Subnet, tags: Tags) -> dict[str, Any]:
        """Route from private subnets to the Internet."""
        child = pulumi.ResourceOptions(parent=self)
        address = ec2.Eip(f"{name}-nat", domain="vpc", tags=tags(f"{name}-nat"), opts=child)
        made = ec2.NatGateway(
            name,
            allocation_id=address.id,
            subnet_id=subnet.id,
            tags=tags(name),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[gateway]),
        )
        return {"cidr_block": "0.0.0.0/0", "nat_gateway_id": made.id}

    def _endpoints(
        self, name: str, args: VpcArgs, vpc: ec2.Vpc, subnets: Sequence[pulumi.Output[str]], tags: Tags
    ) -> list[ec2.VpcEndpoint]:
        """AWS service endpoints in the private subnets."""
        child = pulumi.ResourceOptions(parent=self)
        group = ec2.SecurityGroup(
            f"{name}-endpoints",
            vpc_id=vpc.id,
            description="Endpoints of AWS services",
            tags=tags(f"{name}-endpoints"),
            opts=child,
        )
        SecurityGroupIngressRule(
            f"{name}-endpoints",
            security_group_id=group.id,
            ip_protocol="tcp",
            from_port=443,
            to_port=443,
            cidr_ipv4=args.get("cidr") or DEFAULT_CIDR,
            tags=tags(f"{name}-endpoints"),
            opts=child,
        )
        return [
            ec2.VpcEndpoint(
                f"{name}-{called}",
                vpc_id=vpc.id,
                service_name=service,
                vpc_endpoint_type="Interface",
                subnet_ids=subnets,
                security_group_ids=[group.id],
                private_dns_enabled=True,
                tags=tags(f"{name}-{called}"),
                opts=child,
            )
            for called, service in interface_endpoints(_region(args)).items()
        ]


def _region(args: VpcArgs) -> str:
    """us-east-1 of us-east-1a."""
    return args["zones"][0][:-1]
