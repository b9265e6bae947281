"""Arguments of EksGpuCluster, of an existing cluster and of a Vpc, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.aws.cluster: edit those, or tools/component_arguments.py, not this
file.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi


class Network(TypedDict):
    """A VPC for this cluster."""

    cidr: NotRequired[str]
    """Addresses of the VPC. Default: 10.0.0.0/16."""
    egress: NotRequired[str]
    """What nodes reach outside the VPC: nat, everything, through one NAT gateway; endpoints, only AWS services, through
    endpoints in the VPC, so every image must be in ECR. Default: nat."""
    zones: Sequence[str]
    """Zones of the region, two or more; each gets a private subnet for nodes and a public one for load balancers."""


class VpcArgs(TypedDict):
    """Arguments of Vpc."""

    cidr: NotRequired[str]
    """Addresses of the VPC. Default: 10.0.0.0/16."""
    egress: NotRequired[str]
    """What nodes reach outside the VPC: nat, everything, through one NAT gateway; endpoints, only AWS services, through
    endpoints in the VPC, so every image must be in ECR. Default: nat."""
    zones: Sequence[str]
    """Zones of the region, two or more; each gets a private subnet for nodes and a public one for load balancers."""
    cluster_name: str
    """Cluster name: load balancers find their subnets by it."""
    tags: NotRequired[Mapping[str, str]]
    """Tags for all created resources."""


class EksGpuClusterArgs(TypedDict):
    """Arguments of EksGpuCluster. Either `network` or `subnet_ids`."""

    region: str
    """Region of AWS, such as us-east-1; part of the kubeconfig."""
    network: NotRequired[Network]
    """A VPC of the stack's own; default: subnets are given."""
    admins: NotRequired[Sequence[str]]
    """ARNs of roles and users who administer the cluster, besides its creator."""
    add_ons: NotRequired[Mapping[str, str]]
    """EKS add-ons with their versions; default: EKS installs defaults that nobody updates."""
    cluster_name: str
    """Name of the cluster in EKS."""
    kubernetes_version: str
    """Kubernetes version, such as "1.34"."""
    subnet_ids: NotRequired[Sequence[pulumi.Input[str]]]
    """Existing subnets in at least two zones."""
    public_access_cidrs: NotRequired[Sequence[str]]
    """Networks that may reach the API server from the Internet; default: it is reached from the VPC only."""
    tags: NotRequired[Mapping[str, str]]
    """Tags for all created resources."""


class ExistingEksClusterArgs(TypedDict):
    """Arguments of ExistingEksCluster."""

    cluster_name: str
    """Name of the cluster in EKS."""
    region: str
    """Region of AWS, such as us-east-1; part of the kubeconfig."""
    kubernetes_version: str
    """Kubernetes version of the nodes, such as "1.34": the cluster's version or older."""
    subnet_ids: Sequence[str]
    """Private subnets of the nodes."""
