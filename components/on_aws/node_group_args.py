"""Common arguments of node groups on AWS, independent of the machine image."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi

from components.on_kubernetes.node_taint import Taint


class NodeGroupArgs(TypedDict):
    """Instance types, group size and node properties."""

    region: str
    """Region of AWS, such as us-east-1; it determines the AWS partition in policy ARNs."""
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Private subnets for the instances."""
    security_group_ids: Sequence[pulumi.Input[str]]
    """Security groups of the instances: the cluster security group."""
    pool: str
    """Name of the pool; the value of the label `gpu-commons.org/pool`."""
    kubernetes: str
    """Kubernetes version of the nodes, such as "1.34"."""
    instance_types: Sequence[str]
    """Instance types with the same GPUs and processor architecture, the preferred one first: g6.xlarge."""
    min: NotRequired[int]
    """Minimum number of instances; default 0."""
    desired: NotRequired[int]
    """Initial number of instances, which an autoscaler may change; default: min."""
    max: int
    """Maximum number of instances."""
    capacity: NotRequired[str]
    """`on_demand`, the default, or `spot`."""
    max_unavailable: NotRequired[int]
    """Instances replaced at a time by an update; default 1."""
    root_disk_gib: int
    """Encrypted gp3 volume of a node in GiB, for images and containers."""
    labels: NotRequired[Mapping[str, str]]
    """Additional node labels."""
    taints: NotRequired[Sequence[Taint]]
    """Additional node taints, besides the GPU taint."""
    cni_has_role: NotRequired[bool]
    """The VPC CNI has its own role by Pod Identity, so the node role gets none of its rights."""
    placement_group: NotRequired[str]
    """Placement group for the instances."""
    tags: NotRequired[Mapping[str, str]]
    """Tags for all created resources, including instances and volumes."""
