"""EksGpuNodeGroup: a managed node group of GPU instances, with a machine image chosen by its driver."""

from collections.abc import Sequence
from typing import Any

import pulumi
from pulumi_aws import autoscaling, ec2, eks

from components.on_aws.eks_gpu_node_group_args import EksGpuNodeGroupArgs
from components.on_aws.role import MadeRole
from fleet import labels
from platforms.aws import node_group as manifest
from platforms.aws import scaling, user_data
from platforms.aws.launch_template import Capacity, launch_template
from platforms.aws.roles import node_policies, node_trust, partition_of


class EksGpuNodeGroup(pulumi.ComponentResource):
    """Instances with GPUs as nodes of an EKS cluster, with the labels and taints that a GpuNodePool gives its nodes.

    The machine image is pinned: type and release are chosen from tables at run time and recorded with their
    driver, so that a preview shows a driver change as one line. Anything that EKS or EC2 would reject after minutes is
    rejected before anything is created.
    """

    driver_version: pulumi.Output[str]
    """Driver in the machine image; empty for instances without GPUs."""
    chosen_image: pulumi.Output[str]
    """AMI type and release, such as `AL2023_x86_64_NVIDIA 1.34.9-20260714`."""
    max_gpus: pulumi.Output[int]
    """GPUs at maximum size."""

    def __init__(self, name: str, args: EksGpuNodeGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        group = manifest.read(name, args)
        image, shape = group.machine_image, group.shape
        tags = {labels.POOL: group.pool, **(args.get("tags") or {})}  # costs are reported by this tag
        chosen = {
            "ami_type": image.ami_type,
            "ami_release": image.release_version or image.release,
            **({"driver_version": str(image.driver)} if image.driver else {}),
            **group.recorded_gpus,
        }
        super().__init__("gpu-commons:index:EksGpuNodeGroup", name, {**args, **chosen}, opts)
        child = pulumi.ResourceOptions(parent=self)
        policies = node_policies(partition_of(args["region"]), with_cni=not args.get("cni_has_role"))
        role = MadeRole(f"{name}-node", node_trust(), policies, tags, child)
        template = ec2.LaunchTemplate(
            name,
            **launch_template(
                image,
                group.volume,
                user_data=user_data.user_data(image, group.node_settings),
                security_groups=args["security_group_ids"],
                tags={**tags, "Name": name},
                capacity=Capacity(group.capacity_reservation or "", group.placement_group or ""),
            ),
            tags=tags,
            opts=child,
        )
        values: Any = {
            "ami_type": image.ami_type,
            "release_version": image.release_version or None,
            "version": group.kubernetes,
            "instance_types": list(group.instance_types),
            "capacity_type": group.capacity.upper(),
            "launch_template": {"id": template.id, "version": template.latest_version.apply(str)},
            "scaling_config": scaling.scaling_config(group.scale),
            "update_config": scaling.update_config(scaling.Updates(group.max_unavailable)),
            "labels": group.node_labels,
            "taints": scaling.group_taints(group.node_taints),
        }
        made = eks.NodeGroup(
            name,
            **values,
            cluster_name=args["cluster_name"],
            node_role_arn=role.arn,
            subnet_ids=args["subnet_ids"],
            tags=tags,
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=role.attachments,  # EKS starts instances at once; they cannot join without these
                ignore_changes=["scalingConfig.desiredSize"],  # owned by the autoscaler
            ),
        )
        expected = scaling.managed_template_tags(shape, image.driver, int(group.root_disk_gib))
        scaling_group = made.resources.apply(_scaling_group)
        for key, value in expected.items():
            # Tell the autoscaler what a node of an empty group would be; EKS does not pass its own tags on.
            autoscaling.Tag(
                f"{name}-{key.removeprefix('k8s.io/cluster-autoscaler/node-template/')}",
                autoscaling_group_name=scaling_group,
                tag={"key": key, "value": value, "propagate_at_launch": False},
                opts=child,
            )
        self.driver_version = pulumi.Output.from_input(str(image.driver or ""))
        self.chosen_image = made.id.apply(lambda _: str(image))
        self.max_gpus = pulumi.Output.from_input(group.max * shape.schedulable_gpus)
        self.register_outputs(
            {"driver_version": self.driver_version, "chosen_image": self.chosen_image, "max_gpus": self.max_gpus}
        )


def _scaling_group(resources: Sequence[Any] | None) -> str:
    """The auto-scaling group created by EKS; known as soon as the node group is."""
    return str((resources or [])[0].autoscaling_groups[0].name)
