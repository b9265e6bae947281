"""The launch template of a node group, as the arguments of `pulumi_aws.ec2.LaunchTemplate`.

It must not repeat settings of a managed group: instance types, and the image if the group sets an AMI type.
Source: https://docs.aws.amazon.com/eks/latest/userguide/launch-templates.html
"""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from platforms.aws.machine_images import MachineImage
from platforms.aws.volumes import Volume

HOP_LIMIT: Final = 2  # one hop reaches the node; containers that request its role need one more


@dataclass(frozen=True, slots=True)
class Capacity:
    """Special capacity source of instances; empty: the open market."""

    reservation: str = ""  # cr-0123…
    placement_group: str = ""


def launch_template(  # noqa: PLR0913 - each is a separate decision
    image: MachineImage | None,
    volume: Volume,
    *,
    user_data: str,
    security_groups: Sequence[Any],
    tags: Mapping[str, str],
    capacity: Capacity | None = None,
) -> dict[str, Any]:
    """Arguments; `security_groups` may be outputs. The provider's default tags reach neither instances nor volumes.

    `image` is None for a non-EKS image with one volume.
    """
    capacity = capacity or Capacity()
    template: dict[str, Any] = {
        "block_device_mappings": _devices(image, volume),
        "metadata_options": {
            "http_endpoint": "enabled",
            "http_tokens": "required",
            "http_put_response_hop_limit": HOP_LIMIT,
            "instance_metadata_tags": "disabled",
        },
        # EKS adds the cluster security group only to nodes whose template lists none; a template with interfaces
        # lists them there.
        "network_interfaces": [
            {
                "device_index": 0,
                "associate_public_ip_address": "false",
                "delete_on_termination": "true",
                "security_groups": list(security_groups),
            }
        ],
        "tag_specifications": [{"resource_type": kind, "tags": dict(tags)} for kind in ("instance", "volume")],
        "update_default_version": True,
    }
    if user_data:
        template["user_data"] = b64encode(user_data.encode()).decode()
    if capacity.reservation:
        template["capacity_reservation_specification"] = {
            "capacity_reservation_target": {"capacity_reservation_id": capacity.reservation}
        }
    if capacity.placement_group:
        template["placement"] = {"group_name": capacity.placement_group}
    return template


def _devices(image: MachineImage | None, volume: Volume) -> list[dict[str, Any]]:
    """Bottlerocket's system has a volume of its own, sized by the image; ours is a second one.

    Source: https://github.com/aws-samples/karpenter-blueprints/tree/main/blueprints/soci-snapshotter
    """
    ours = {
        "volume_size": volume.gib,
        "volume_type": "gp3",
        "throughput": volume.throughput,
        "iops": volume.iops,
        "encrypted": "true",
        "delete_on_termination": "true",
        **({"kms_key_id": volume.kms_key} if volume.kms_key else {}),
    }
    if image is None or not image.is_bottlerocket:
        return [{"device_name": "/dev/xvda", "ebs": ours}]
    own = {key: ours[key] for key in ("volume_type", "encrypted", "delete_on_termination", "kms_key_id") if key in ours}
    return [{"device_name": "/dev/xvda", "ebs": own}, {"device_name": "/dev/xvdb", "ebs": ours}]
