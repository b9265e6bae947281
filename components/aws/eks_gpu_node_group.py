"""EksGpuNodeGroup: a managed node group of GPU instances, its machine image chosen by the driver that it carries."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi
from aws.group import Group, read_group
from pulumi_aws import ec2, eks

from aws import launch_template, roles, scaling
from components.aws.role import MadeRole

_EFFECTS = {"NoSchedule": "NO_SCHEDULE", "NoExecute": "NO_EXECUTE", "PreferNoSchedule": "PREFER_NO_SCHEDULE"}


class Taint(TypedDict):
    """A Kubernetes node taint."""

    key: str
    value: NotRequired[str]
    effect: str


class EksGpuNodeGroupArgs(TypedDict):
    """Arguments of EksGpuNodeGroup."""

    cluster_name: pulumi.Input[str]
    """Name of the EKS cluster."""
    cluster_endpoint: NotRequired[pulumi.Input[str]]
    """Address of its API server: only for machine images that are told (self-managed user data)."""
    subnet_ids: pulumi.Input[Sequence[pulumi.Input[str]]]
    """Private subnets that nodes are started in."""
    kubernetes_version: str
    """Kubernetes version of the nodes, such as "1.34"."""
    pool: str
    """Name of the pool; the value of the label `gpu-commons.org/pool`."""
    instance_types: Sequence[str]
    """Instance types with the same GPUs and processor architecture, the wanted one first: g6.xlarge."""
    driver: NotRequired[str]
    """NVIDIA driver: "580.126.09", a branch "580", or "newest", the default: the newest that the instances can have."""
    ami_type: NotRequired[str]
    """AMI type that was chosen by hand, such as BOTTLEROCKET_x86_64_NVIDIA; default: chosen by the driver."""
    ami_release: NotRequired[str]
    """Its release without the Kubernetes version, such as "20260714"; default: the newest with that driver."""
    min_size: NotRequired[int]
    """Instances that run in any case; default 0."""
    desired_size: NotRequired[int]
    """Instances at the start; from then on an autoscaler decides. Default: min_size."""
    max_size: int
    """Instances that run at most."""
    capacity: NotRequired[str]
    """"on_demand", the default, or "spot"."""
    root_disk_gib: int
    """Encrypted gp3 volume of a node in GiB, for images and containers."""
    max_unavailable: NotRequired[int]
    """Instances that an update replaces at the same time; default 1."""
    labels: NotRequired[Mapping[str, str]]
    """Further labels of the nodes."""
    taints: NotRequired[Sequence[Taint]]
    """Further taints of the nodes, beside the one for GPUs."""
    tags: NotRequired[Mapping[str, str]]
    """Tags of everything that is made, the instances and their volumes included."""


class EksGpuNodeGroup(pulumi.ComponentResource):
    """Instances with GPUs as nodes of an EKS cluster, with the labels and taints that a GpuNodePool gives its nodes.

    The machine image is pinned: type and release are chosen from tables when the program runs, and recorded with the
    driver they carry, so that a preview shows a change of driver as one line. Everything that EKS or EC2 would refuse
    after minutes is refused before anything is made.
    """

    driver_version: pulumi.Output[str]
    """Driver of the machine image; empty for instances without GPUs."""
    machine_image: pulumi.Output[str]
    """AMI type and release, such as `AL2023_x86_64_NVIDIA 1.34-20260714`."""
    max_gpus: pulumi.Output[int]
    """GPUs at the greatest size."""

    def __init__(self, name: str, args: EksGpuNodeGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        group = read_group(name, args)
        image = group.machine_image
        chosen = {
            "driver": str(image.driver or ""),
            "ami_type": image.ami_type,
            "ami_release": image.release_version,
        }
        super().__init__("gpu-commons:aws:EksGpuNodeGroup", name, {**args, **chosen}, opts)
        child = pulumi.ResourceOptions(parent=self)
        role = MadeRole(f"{name}-node", roles.NODE, group.tags, child)
        template = ec2.LaunchTemplate(name, **_template(group, args["cluster_name"]), tags=dict(group.tags), opts=child)
        node_group = eks.NodeGroup(
            name,
            cluster_name=args["cluster_name"],
            node_role_arn=role.arn,
            subnet_ids=args["subnet_ids"],
            ami_type=image.ami_type,
            release_version=image.release_version,
            version=group.kubernetes,
            instance_types=list(group.instance_types),
            capacity_type=group.capacity.upper(),
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={"min_size": group.min, "desired_size": group.desired, "max_size": group.max},
            update_config={"max_unavailable": group.max_unavailable},
            labels=dict(group.labels),
            taints=[{**taint, "effect": _EFFECTS[taint["effect"]]} for taint in group.taints],
            tags={**group.tags, **scaling.autoscaler_tags(group)},
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=role.attachments,  # EKS starts instances at once, and they fail to join without them
                ignore_changes=["scalingConfig.desiredSize"],  # the autoscaler's
            ),
        )
        self.driver_version = node_group.id.apply(lambda _: chosen["driver"])
        self.machine_image = node_group.id.apply(lambda _: f"{image.ami_type} {image.release_version}")
        self.max_gpus = pulumi.Output.from_input(group.max * group.shape.gpus)
        self.register_outputs(
            {"driver_version": self.driver_version, "machine_image": self.machine_image, "max_gpus": self.max_gpus}
        )


def _template(group: Group, cluster: pulumi.Input[str]) -> dict[str, Any]:
    return launch_template.values(group)
