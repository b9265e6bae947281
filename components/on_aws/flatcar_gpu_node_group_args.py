"""Arguments of FlatcarGpuNodeGroup, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.aws.flatcar_keys, platforms.aws.node_group: edit those, or
tools/component_arguments.py, not this file.
"""

from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

import pulumi

from components.on_kubernetes.node_taint import Taint


class DownloadedProgram(TypedDict):
    """A program downloaded at first boot, with its checksum."""

    url: str
    """Address that nodes can reach: the publisher's, or a mirror of yours."""
    sha256: str
    """Its SHA-256 as the publisher states it, 64 digits."""


class DownloadedPrograms(TypedDict):
    """Programs that a Flatcar node needs to join an EKS cluster but its image lacks."""

    kubelet: DownloadedProgram
    """The kubelet, of the Kubernetes version of the nodes."""
    authenticator: DownloadedProgram
    """aws-iam-authenticator: tokens from the role of a node."""
    credential_provider: DownloadedProgram
    """ecr-credential-provider: pulls from ECR."""
    toolkit: DownloadedProgram
    """Extension nvidia-runtime of Flatcar's sysext bakery."""


class FlatcarOfGroup(TypedDict):
    """Nodes on Flatcar instead of an EKS machine image."""

    release: str
    """Release of Flatcar: "4593.2.5". Kernel and driver follow from it."""
    driver_container: NotRequired[str]
    """Precompiled driver container in place of the extension of the release: its image by digest, whose tag is its key,
    registry.example.edu/driver:580-6.12.102-flatcar-flatcar4593.2.5@sha256:…, which an NvidiaRuntime with
    `driver_containers` then runs; or the key alone, where the site runs it itself."""
    container_toolkit: str
    """NVIDIA container toolkit in the extension nvidia-runtime: "1.17.8"."""
    ssh_keys: NotRequired[Sequence[str]]
    """Where public keys of those who may log in as core are kept: ssm-parameter:/gpu/ssh/ana; default: nobody logs
    in."""
    max_pods: int
    """Pods that the network interfaces of an instance have addresses for, as AWS's calculator prints it."""
    programs: DownloadedPrograms
    """Programs that the image of Flatcar does not have."""


class FlatcarGpuNodeGroupArgs(TypedDict):
    """Arguments of FlatcarGpuNodeGroup. Plain values decide what is created; others may be outputs. An update replaces
    `max_unavailable` instances at a time without draining them; their pods get two minutes to end.
    """

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
    flatcar: FlatcarOfGroup
    """Nodes on Flatcar: release, SSH keys and downloaded programs."""
    capacity: NotRequired[str]
    """How the instances are bought: on_demand or spot. Default: on_demand."""
    max_unavailable: NotRequired[int]
    """Instances that an update replaces at the same time, 100 at most. Default: 1."""
    root_disk_gib: int
    """Encrypted gp3 volume of one node, in GiB, for images and containers."""
    placement_group: NotRequired[str]
    """Name of an existing placement group that the instances are started in."""
    labels: NotRequired[Mapping[str, str]]
    """Further labels for these nodes."""
    taints: NotRequired[Sequence[Taint]]
    """Further taints for these nodes, besides the GPU taint."""
    pool: str
    """Name of the pool; becomes the label gpu-commons.org/pool."""
    cluster_name: str
    """Name of the EKS cluster: part of tag names, so a plain value."""
    endpoint: pulumi.Input[str]
    """Address of the cluster's API server."""
    certificate_authority: pulumi.Input[str]
    """CA certificate in base64, as EKS returns it."""
    dns: pulumi.Input[str]
    """Cluster DNS address: the tenth of its service network."""
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
