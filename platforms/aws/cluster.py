"""An EKS cluster: its keys in a stack file, created by the stack or existing."""

import re
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Annotated, Final, Literal

from pydantic import AfterValidator, BaseModel, Field

from errors.agreements import check
from errors.clock import today
from errors.faults import FORM, Misfit, matching
from errors.problems import Fault
from platforms.aws.instance_group import KubernetesVersion
from platforms.aws.machine_image_errors import by_version

_REGION: Final = re.compile(r"[a-z]{2}(-[a-z]+)+-\d", re.ASCII)
_CLUSTER: Final = re.compile(r"[0-9A-Za-z][\w-]{0,99}", re.ASCII)  # format of EKS CreateCluster
_SUBNET: Final = re.compile(r"subnet-[0-9a-f]{8,17}")
_ROLE: Final = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:(role|user)/[\w+=,.@/-]{1,512}", re.ASCII)
_CIDR: Final = re.compile(r"(10|172|192|100)(\.\d{1,3}){3}/(1[6-9]|2[0-2])", re.ASCII)
_ADD_ON: Final = re.compile(r"v\d+\.\d+\.\d+-eksbuild\.\d+", re.ASCII)


def _network(value: str) -> str:
    try:
        ip_network(value)
    except ValueError:
        try:
            meant = f"write the network, {ip_network(value, strict=False)}"
        except ValueError:
            meant = "write its first address and its length: 192.0.2.0/24"
        raise Misfit("is not a network", meant) from None
    if "/" not in value:
        raise Misfit("is an address, not a network", f"write {ip_network(value)} for this address alone")
    return value


DEFAULT_CIDR: Final = "10.0.0.0/16"
Region = Annotated[str, matching(_REGION, "is not a region of AWS", "write one such as us-east-1 or eu-central-1")]
ClusterName = Annotated[
    str, matching(_CLUSTER, "is not the name of an EKS cluster", "use letters, digits, - and _, 100 characters at most")
]
Subnet = Annotated[
    str, matching(_SUBNET, "is not the id of a subnet", "write what the VPC console shows: subnet-0123456789abcdef0")
]
Principal = Annotated[
    str,
    matching(
        _ROLE, "is not the ARN of a role or user", "write what IAM shows: arn:aws:iam::123456789012:role/operators"
    ),
]
Cidr = Annotated[
    str,
    matching(
        _CIDR, "is not a private network that a VPC can have", "write an address and a length of 16 to 22: 10.0.0.0/16"
    ),
    AfterValidator(_network),
]
PublicNetwork = Annotated[str, AfterValidator(_network)]
Zone = Annotated[
    str, matching(re.compile(rf"{_REGION.pattern}[a-z]", re.ASCII), "is not a zone", "write one such as us-east-1a")
]
AddOnVersion = Annotated[
    str,
    matching(
        _ADD_ON,
        "is not a version of an add-on",
        "write what aws eks describe-addon-versions prints: v1.21.1-eksbuild.1",
    ),
]


class Network(BaseModel):
    """A small VPC of the stack's own: per zone a private subnet for nodes and a public one for ingress."""

    model_config = FORM
    cidr: Cidr = Field(DEFAULT_CIDR, description="Addresses of the VPC.")
    egress: Literal["nat", "endpoints"] = Field(
        "nat",
        description="What nodes reach outside the VPC: nat, everything, through one NAT gateway; endpoints, only AWS "
        "services, through endpoints in the VPC, so every image must be in ECR.",
    )
    zones: tuple[Zone, ...] = Field(
        min_length=2,
        description="Zones of the region, two or more; each gets a private subnet for nodes and a public one for load "
        "balancers.",
    )


class ClusterKeys(BaseModel):
    """A cluster to create or join."""

    model_config = FORM
    region: Region = Field(description="Region of AWS: us-east-1.")
    kubernetes: KubernetesVersion = Field(description='Kubernetes version of the cluster, quoted: "1.34".')
    existing: ClusterName | None = Field(
        None,
        description="Name of an existing cluster, which the stack looks up and never changes; none: the stack creates "
        "one.",
    )
    network: Network | None = Field(None, description="A VPC of the stack's own; none: subnets are given.")
    subnets: tuple[Subnet, ...] = Field(
        (), description="Existing private subnets, in two zones or more; none: network creates them."
    )
    public_access: tuple[PublicNetwork, ...] = Field(
        (),
        description="Networks that may reach the API server from the Internet; none: it is reached from the VPC only.",
    )
    admins: tuple[Principal, ...] = Field(
        (), description="ARNs of roles and users who administer the cluster, besides its creator."
    )
    add_ons: dict[
        Literal["vpc-cni", "coredns", "kube-proxy", "eks-pod-identity-agent", "aws-ebs-csi-driver"], AddOnVersion
    ] = Field(
        default={}, description="EKS add-ons with their versions; none: EKS installs defaults that nobody updates."
    )

    @check
    def _offered(self) -> Iterator[Fault]:
        if refused := by_version(self.kubernetes, today()):
            yield Fault(("kubernetes",), f"cannot be used on EKS: {refused.reason}", refused.fix, self.kubernetes)

    @check
    def _of_its_owner(self) -> Iterator[Fault]:
        """An existing cluster belongs to others, as do its network, entries and add-ons."""
        for key in ("network", "public_access", "admins", "add_ons"):
            if self.existing is not None and getattr(self, key, None):
                reason = "is given beside existing, but the stack never changes an existing cluster"
                yield Fault((key,), reason, "leave it out")

    @check
    def _subnets(self) -> Iterator[Fault]:
        network, subnets = self.network, self.subnets
        if network is None and not subnets and self.existing is not None:
            yield Fault(("subnets",), "is missing", "name the private subnets of the cluster's nodes")
        elif network is None and not subnets:
            fix = "add network: {zones: […]} for a VPC of the stack's own, or subnets: [subnet-…] that exist"
            yield Fault(("network",), "is missing", fix)
        elif network is not None and subnets:
            yield Fault(("subnets",), "is given beside network", "keep one: existing subnets or a VPC of its own")
        elif subnets and len({*subnets}) < 2:
            fix = "name two or more in different zones, as EKS requires"
            yield Fault(("subnets",), "has only one subnet", fix)

    @check
    def _zones(self) -> Iterator[Fault]:
        for zone in self.network.zones if self.network else ():
            if not zone.startswith(self.region):
                fix = f"write a zone of {self.region}: {self.region}a"
                yield Fault(("network", "zones"), f"is not in region {self.region}", fix, zone)

    @check
    def _endpoints(self) -> Iterator[Fault]:
        if self.network and self.network.egress == "endpoints" and self.region.startswith("cn-"):
            fix = "use nat: services have other names in China, and no table has them"
            yield Fault(("network", "egress"), "is not known in this region", fix, "endpoints")
