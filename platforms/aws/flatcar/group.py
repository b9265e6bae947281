"""An auto-scaling group of Flatcar nodes, as arguments of `pulumi_aws` resources. Pure.

EKS has no managed node group for Flatcar: our auto-scaling group starts instances, which join by themselves.
Values created by AWS (IDs, ARNs, the encoded config) may be outputs.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from platforms.aws.flatcar.releases import OWNER, Release
from platforms.aws.instances import GroupShape
from platforms.aws.launch_template import Capacity, launch_template
from platforms.aws.scaling import Scale, Updates, discovery_tags
from platforms.aws.volumes import Volume

_ARCHITECTURES: Final = {"amd64": "x86_64", "arm64": "arm64"}  # as EC2 spells them
# A node is unusable until its driver is loaded: about as long as its extension or container takes.
_WARM_UP: Final = 300  # seconds


def image_lookup(release: Release, architecture: str) -> dict[str, Any]:
    """Arguments of `ec2.get_ami`: a release's public image in the provider's region."""
    return {
        "owners": [OWNER],
        "most_recent": True,
        "filters": [
            {"name": "name", "values": [release.image_name()]},
            {"name": "architecture", "values": [_ARCHITECTURES[architecture]]},
        ],
    }


def template(  # noqa: PLR0913 - each is a decision of its own
    volume: Volume,
    *,
    image_id: Any,
    instance_profile: Any,
    user_data: Any,
    security_groups: Sequence[Any],
    tags: Mapping[str, str],
    capacity: Capacity | None = None,
) -> dict[str, Any]:
    """Arguments of `ec2.LaunchTemplate`. `user_data` is the rendered config in base64, `instance_profile` a name.

    The root device is /dev/xvda: github.com/flatcar/mantle, platform/api/aws/images.go.
    """
    common = launch_template(None, volume, user_data="", security_groups=security_groups, tags=tags, capacity=capacity)
    return {
        **common,
        "image_id": image_id,
        "iam_instance_profile": {"name": instance_profile},
        "user_data": user_data,
    }


def scaling_group(  # noqa: PLR0913 - each is a decision of its own
    shape: GroupShape,
    scale: Scale,
    cluster: str,
    *,
    subnets: Sequence[Any],
    template_id: Any,
    template_version: Any,
    is_spot: bool,
    updates: Updates | None,
    tags: Mapping[str, str],
    node_template: Mapping[str, Any],
) -> dict[str, Any]:
    """Arguments of `autoscaling.Group`. `node_template` comes from `platforms.aws.scaling.template_tags`.

    `updates` replaces nodes as soon as their template changes, without draining: an auto-scaling group does not know
    pods. Pods get two minutes to end at shutdown (`joining`). None leaves running nodes unchanged; only
    new nodes get the new template.
    """
    group: dict[str, Any] = {
        "min_size": scale.least,
        "desired_capacity": scale.desired,
        "max_size": scale.most,
        "vpc_zone_identifiers": list(subnets),
        "mixed_instances_policy": _instances(shape, template_id, template_version, is_spot=is_spot),
        "tags": _tags(cluster, tags, node_template),
    }
    if updates is not None:
        preferences = {
            "min_healthy_percentage": _healthy_percent(scale, updates),
            "instance_warmup": str(_WARM_UP),
            "skip_matching": True,
        }
        group["instance_refresh"] = {"strategy": "Rolling", "preferences": preferences}
    return group


def access_entry(cluster: Any, role_arn: Any) -> dict[str, Any]:
    """Arguments of `eks.AccessEntry` that lets nodes with this role join; its type sets their group and name.

    Source: https://docs.aws.amazon.com/eks/latest/userguide/access-entries.html
    """
    return {"cluster_name": cluster, "principal_arn": role_arn, "type": "EC2_LINUX"}


def _instances(shape: GroupShape, template_id: Any, template_version: Any, *, is_spot: bool) -> dict[str, Any]:
    """On demand, EC2 tries types in order; on the spot market, those with the steadiest capacity first."""
    distribution = {
        "on_demand_base_capacity": 0,
        "on_demand_percentage_above_base_capacity": 0 if is_spot else 100,
        **(
            {"spot_allocation_strategy": "price-capacity-optimized"}
            if is_spot
            else {"on_demand_allocation_strategy": "prioritized"}
        ),
    }
    return {
        "instances_distribution": distribution,
        "launch_template": {
            "launch_template_specification": {"launch_template_id": template_id, "version": template_version},
            "overrides": [{"instance_type": name} for name in shape.names],
        },
    }


def _tags(cluster: str, tags: Mapping[str, str], node_template: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Instance tags name the cluster for its controllers. The autoscaler reads the group's tags."""
    of_nodes = {**tags, f"kubernetes.io/cluster/{cluster}": "owned"}
    of_group = {**discovery_tags(cluster), **node_template}
    return [
        *({"key": key, "value": value, "propagate_at_launch": True} for key, value in sorted(of_nodes.items())),
        *({"key": key, "value": value, "propagate_at_launch": False} for key, value in sorted(of_group.items())),
    ]


def _healthy_percent(scale: Scale, updates: Updates) -> int:
    return max(0, 100 - 100 * updates.nodes // scale.most)
