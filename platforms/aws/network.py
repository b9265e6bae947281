"""Address plan of a small VPC: per zone, a private subnet for nodes and pods and a small public one."""

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone with its two subnets."""

    name: str
    private: str
    public: str


def plan(cidr: str, zones: Sequence[str]) -> tuple[Zone, ...]:
    """Zones with their subnets.

    Half of the addresses go to equally sized private subnets, because the VPC CNI gives each pod one of them. A public
    subnet holds a NAT gateway and load balancers: a sixteenth of a private one, at least /28, AWS's minimum.
    Adding a zone at the end moves no other, as long as their number stays below the next power of two.
    Raises ValueError if the network is too small.
    """
    whole = ipaddress.IPv4Network(cidr)
    bits = max(1, (len(zones) - 1).bit_length())
    halves = list(whole.subnets())
    private_length, public_length = halves[0].prefixlen + bits, min(28, halves[1].prefixlen + bits + 4)
    if private_length > 28:
        raise ValueError(f"{cidr} is too small for {len(zones)} zones")
    private = islice(halves[0].subnets(new_prefix=private_length), len(zones))
    public = islice(halves[1].subnets(new_prefix=public_length), len(zones))
    return tuple(
        Zone(name, str(inside), str(outside)) for name, inside, outside in zip(zones, private, public, strict=True)
    )


# Services that nodes and pods call without egress, besides S3, whose gateway is free: EC2 names the node,
# images come from ECR, EKS describes the cluster, STS and EKS Auth give roles to pods, and the rest is for load
# balancers, logs and the cluster autoscaler.
# Source: https://docs.aws.amazon.com/eks/latest/userguide/private-clusters.html
_INTERFACES: Final = (
    "ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "sts", "elasticloadbalancing", "autoscaling", "logs",
)  # fmt: skip


def interface_endpoints(region: str) -> dict[str, str]:
    """Services with an interface endpoint in a private network: short name to PrivateLink name."""
    return {name.replace(".", "-"): f"com.amazonaws.{region}.{name}" for name in _INTERFACES}
