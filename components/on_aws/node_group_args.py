"""Arguments that node groups on AWS have in common, whatever their nodes start from."""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi

from components.on_kubernetes.node_taint import Taint


class NodeGroupArgs(TypedDict):
    """Which instances are started, how many, and as which nodes."""

    region: str
    """Region of AWS, such as us-east-1; the ARNs of policies begin as those of its part of AWS."""
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Private subnets that instances are started in."""
    security_group_ids: Sequence[pulumi.Input[str]]
    """Security groups of the instances: the cluster's own, as EKS names it."""
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
    """Instances that an update replaces at the same time; default 1."""
    root_disk_gib: int
    """Encrypted gp3 volume of a node in GiB, for images and containers."""
    labels: NotRequired[Mapping[str, str]]
    """Further labels of the nodes."""
    taints: NotRequired[Sequence[Taint]]
    """Further taints of the nodes, beside the one for GPUs."""
    cni_has_role: NotRequired[bool]
    """Whether the VPC CNI has a role of its own, by Pod Identity: then the nodes' role has none of its rights."""
    placement_group: NotRequired[str]
    """Name of a placement group that the instances are started in."""
    tags: NotRequired[Mapping[str, str]]
    """Tags of everything that is made, the instances and their volumes included."""
