"""FlatcarGpuNodeGroup: GPU instances on Flatcar in an EKS cluster, with a driver tied to the release."""

import base64
from collections.abc import Mapping
from typing import Any

import pulumi
from pulumi_aws import autoscaling, ec2, eks, iam, ssm

from components.on_aws.flatcar_gpu_node_group_args import FlatcarGpuNodeGroupArgs
from components.on_aws.role import MadeRole
from fleet import labels
from platforms.aws import node_group as manifest
from platforms.aws.flatcar import group as flatcar
from platforms.aws.flatcar.joining import Cluster
from platforms.aws.flatcar_node import user_data
from platforms.aws.launch_template import Capacity
from platforms.aws.node_group import NodeGroup
from platforms.aws.roles import node_policies, node_trust, partition_of
from platforms.aws.scaling import Updates, template_tags
from platforms.aws.volumes import Volume


class FlatcarGpuNodeGroup(pulumi.ComponentResource):
    """An auto-scaling group of Flatcar instances that join by an access entry, configured once, at first boot.

    Release, kernel and driver are chosen from tables at run time and recorded, so that a preview shows a driver
    change as one line. Modules for another kernel are rejected before anything is created. Nodes are replaced, not
    updated.
    """

    driver_version: pulumi.Output[str]
    """Driver of the nodes."""
    chosen_image: pulumi.Output[str]
    """Release and driver, such as `Flatcar 4593.2.5, nvidia-drivers-570`."""
    max_gpus: pulumi.Output[int]
    """GPUs at maximum size."""

    def __init__(self, name: str, args: FlatcarGpuNodeGroupArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        group = manifest.read(name, args, owner="FlatcarGpuNodeGroup")
        image, shape = group.flatcar_image, group.shape
        tags = {labels.POOL: group.pool, **(args.get("tags") or {})}  # costs are reported by this tag
        chosen = {
            "driver_version": str(image.driver),
            "driver_source": str(image.source),
            "flatcar_release": image.release.version,
            "kernel": image.release.kernel_release,
            **group.recorded_gpus,
        }
        super().__init__("gpu-commons:index:FlatcarGpuNodeGroup", name, {**args, **chosen}, opts)
        child = pulumi.ResourceOptions(parent=self)
        invoke = pulumi.InvokeOptions(parent=self)
        policies = node_policies(partition_of(args["region"]), with_cni=not args.get("cni_has_role"))
        role = MadeRole(f"{name}-node", node_trust(), policies, tags, child)
        profile = iam.InstanceProfile(f"{name}-node", role=role.name, tags=tags, opts=child)
        entry = eks.AccessEntry(name, **flatcar.access_entry(args["cluster_name"], role.arn), tags={**tags}, opts=child)
        ami = ec2.get_ami_output(**flatcar.image_lookup(image.release, shape.architecture), opts=invoke)
        template = ec2.LaunchTemplate(
            name,
            **flatcar.template(
                Volume(int(group.root_disk_gib)),
                image_id=ami.id,
                instance_profile=profile.name,
                user_data=_user_data(group, args, invoke),
                security_groups=args["security_group_ids"],
                tags={**tags, "Name": name},
                capacity=Capacity(placement_group=group.placement_group or ""),
            ),
            # The group's type list takes precedence; instances started from the template alone get the preferred type.
            instance_type=group.instance_types[0],
            tags=tags,
            opts=child,
        )
        node_template = template_tags(
            shape, image.driver, group.node_labels, group.node_taints, int(group.root_disk_gib)
        )
        values = flatcar.scaling_group(
            shape,
            group.scale,
            args["cluster_name"],
            subnets=(),
            template_id=template.id,
            template_version=template.latest_version.apply(str),
            is_spot=group.capacity == "spot",
            updates=Updates(group.max_unavailable),
            tags={**tags, "Name": name},
            node_template=node_template,
        )
        made = autoscaling.Group(
            name,
            **{**values, "vpc_zone_identifiers": args["subnet_ids"]},
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=[entry, *role.attachments],  # instances start at once; they cannot join without these
                ignore_changes=["desiredCapacity"],  # owned by the autoscaler
            ),
        )
        self.driver_version = pulumi.Output.from_input(str(image.driver))
        self.chosen_image = made.id.apply(lambda _: str(image))
        self.max_gpus = pulumi.Output.from_input(group.max * shape.schedulable_gpus)
        self.register_outputs(
            {"driver_version": self.driver_version, "chosen_image": self.chosen_image, "max_gpus": self.max_gpus}
        )


def _user_data(group: NodeGroup, args: FlatcarGpuNodeGroupArgs, invoke: pulumi.InvokeOptions) -> pulumi.Output[str]:
    """Node config in base64, known as soon as the cluster is."""
    names = group.flatcar.key_parameters if group.flatcar else ()
    public = [ssm.get_parameter_output(name=name, opts=invoke).insecure_value for name in names]
    known = pulumi.Output.all(
        endpoint=args["endpoint"], authority=args["certificate_authority"], dns=args["dns"], keys=public
    )
    return known.apply(lambda its: _encoded(group, args["cluster_name"], args["region"], its))


def _encoded(group: NodeGroup, cluster: str, region: str, known: Mapping[str, Any]) -> str:
    joined = Cluster(cluster, region, known["endpoint"], known["authority"], known["dns"])
    return base64.b64encode(user_data(group, joined, known["keys"]).encode()).decode()
