"""Arguments of EksGpuNodeGroup, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.aws.instance_group, platforms.aws.node_group: edit those, or
tools/component_arguments.py, not this file.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi

from components.on_kubernetes.node_taint import Taint


class MachineImage(TypedDict):
    """An EKS machine image chosen by hand."""

    type: str
    """AMI type as EKS calls it: AL2023_x86_64_NVIDIA."""
    release: NotRequired[str]
    """Release without the Kubernetes version: "20260714"; default: the newest that fits."""


class EksGpuNodeGroupArgs(TypedDict):
    """Arguments of EksGpuNodeGroup. Plain values decide what exists; inputs flow through."""

    instance_types: Sequence[str]
    """EC2 instance types that may be started, the preferred one first: g6.xlarge. All have the same GPUs and processor
    architecture."""
    min: NotRequired[int]
    """Minimum number of instances. Default: 0."""
    desired: NotRequired[int]
    """Initial number of instances, which an autoscaler may change; default: min."""
    max: int
    """Maximum number of instances."""
    kubernetes: str
    """Kubernetes version of the nodes, such as "1.34"."""
    driver: NotRequired[str]
    """NVIDIA driver: "580.126.09", a branch "580", or newest, the default: the newest that the instances can have. It
    determines the machine image, except on Flatcar."""
    machine_image: NotRequired[MachineImage]
    """A machine image chosen by hand; default: the driver determines it."""
    capacity: NotRequired[str]
    """How the instances are bought: on_demand or spot. Default: on_demand."""
    max_unavailable: NotRequired[int]
    """Instances that an update replaces at the same time, 100 at most. Default: 1."""
    root_disk_gib: int
    """Encrypted gp3 volume of one node, in GiB, for images and containers."""
    volume_throughput: NotRequired[int]
    """MiB/s of that volume, 125 to 2000; default: 125, and 600 with parallel_pulls."""
    parallel_pulls: NotRequired[bool]
    """Pull and unpack the layers of an image in parallel, with SOCI. Default: false."""
    capacity_reservation: NotRequired[str]
    """Id of a capacity reservation that the instances are started in: cr-0123456789abcdef0."""
    placement_group: NotRequired[str]
    """Name of an existing placement group that the instances are started in."""
    labels: NotRequired[Mapping[str, str]]
    """Further labels for these nodes."""
    taints: NotRequired[Sequence[Taint]]
    """Further taints for these nodes, besides the GPU taint."""
    pool: str
    """Name of the pool; becomes the label gpu-commons.org/pool."""
    cluster_name: pulumi.Input[str]
    """Name of the EKS cluster, also in the autoscaler's tags."""
    region: str
    """Region of AWS, such as us-east-1; it determines the AWS partition in policy ARNs."""
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Private subnets for the instances."""
    security_group_ids: Sequence[pulumi.Input[str]]
    """Security groups of the instances: the cluster security group."""
    cni_has_role: NotRequired[bool]
    """The VPC CNI has its own role by Pod Identity, so the node role gets none of its rights."""
    tags: NotRequired[Mapping[str, str]]
    """Tags for all created resources, including instances and volumes."""
