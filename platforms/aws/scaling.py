"""How many nodes a group has, how it changes them, and what an autoscaler must know of a group without nodes.

Sources: https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html and
API_NodegroupUpdateConfig.html; https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from compat.values.versions import DriverVersion
from fleet.labels import (
    ALWAYS_DISCOVERED,
    ARCH,
    GFD_MEMORY,
    GFD_PRODUCT,
    GPU_RESOURCE,
    LINUX,
    NVIDIA_PREFIX,
    OS,
    Taint,
    gfd_labels,
)
from platforms.aws.instances import GroupShape

_TEMPLATE: Final = "k8s.io/cluster-autoscaler/node-template"
# A node with this label counts as one with GPUs before its device plugin has registered; without it the autoscaler
# starts a second node meanwhile.
ACCELERATOR: Final = "k8s.amazonaws.com/accelerator"
# Labels of GPU feature discovery by which pods choose nodes; the others repeat them, or tell what all nodes have.
_TELLING: Final = frozenset(
    {
        GFD_PRODUCT,
        GFD_MEMORY,
        *(f"{NVIDIA_PREFIX}gpu.{word}" for word in ("present", "count", "compute.major", "compute.minor")),
        f"{NVIDIA_PREFIX}cuda.driver-version.major",
    }
)
MAX_UNAVAILABLE: Final = 100  # nodes at a time; API_NodegroupUpdateConfig.html above
_EFFECTS: Final = {
    "NoSchedule": "NO_SCHEDULE",
    "NoExecute": "NO_EXECUTE",
    "PreferNoSchedule": "PREFER_NO_SCHEDULE",
}


@dataclass(frozen=True, slots=True)
class Scale:
    """Nodes of a group. Where an autoscaler owns the desired number, ours is the one to begin with."""

    least: int
    desired: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}–{self.most}" if self.least != self.most else str(self.most)  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class Updates:
    """How many nodes an update may take away at a time.

    EKS drains each for up to 15 minutes; pods that a disruption budget holds longer end the update, and nothing in a
    group changes that time.
    Source: https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
    """

    nodes: int = 1


def scaling_config(scale: Scale) -> dict[str, int]:
    """As `pulumi_aws.eks.NodeGroup` takes it."""
    return {"min_size": scale.least, "desired_size": scale.desired, "max_size": scale.most}


def update_config(updates: Updates) -> dict[str, int]:
    """As `pulumi_aws.eks.NodeGroup` takes it."""
    return {"max_unavailable": updates.nodes}


def accelerator_labels(shape: GroupShape) -> dict[str, str]:
    """The label that tells the autoscaler to wait for GPUs: `k8s.amazonaws.com/accelerator: nvidia-l4`."""
    return {ACCELERATOR: shape.gpu.gfd_product.lower()} if shape.gpu else {}


def group_taints(taints: Sequence[Taint]) -> list[dict[str, str]]:
    """Taints as `pulumi_aws.eks.NodeGroup` takes them, whose effects EKS spells in its own way."""
    return [{"key": taint.key, "value": taint.value, "effect": _EFFECTS[taint.effect]} for taint in taints]


def discovery_tags(cluster: str) -> dict[str, str]:
    """By these an autoscaler finds the groups of its cluster; EKS sets them on its own groups."""
    return {"k8s.io/cluster-autoscaler/enabled": "true", f"k8s.io/cluster-autoscaler/{cluster}": "owned"}


def template_tags(
    shape: GroupShape,
    driver: DriverVersion | None,
    labels: Mapping[str, Any],
    taints: Sequence[Taint],
    disk_gib: int,
) -> dict[str, Any]:
    """What a node of a group would be, for an autoscaler that sees none; tags of the auto-scaling group, not of EKS's.

    They state the GPUs as well: for a part of one, EC2 reports none. Labels of GPU feature discovery, which a node gets
    after its start, are those that this driver will report, as far as the table of GPUs lists them: it does not list
    what a part of a GPU is called. `labels` may hold outputs.
    """
    expected = {
        **(gfd_labels(shape.gpu, shape.schedulable_gpus, driver) if shape.gpu and driver and shape.gpus >= 1 else {}),
        **(ALWAYS_DISCOVERED if shape.gpu else {}),
        OS: LINUX,
        ARCH: shape.architecture,
        **accelerator_labels(shape),
        **labels,
    }
    tags: dict[str, Any] = {f"{_TEMPLATE}/label/{key}": value for key, value in sorted(expected.items())}
    tags |= {f"{_TEMPLATE}/taint/{taint.key}": f"{taint.value}:{taint.effect}" for taint in taints}
    if shape.gpu:
        tags[f"{_TEMPLATE}/resources/{GPU_RESOURCE}"] = str(shape.schedulable_gpus)
    tags[f"{_TEMPLATE}/resources/ephemeral-storage"] = f"{disk_gib}Gi"
    return tags


def managed_template_tags(shape: GroupShape, driver: DriverVersion | None, disk_gib: int) -> dict[str, str]:
    """Those of `template_tags` that a group of EKS needs, each of which is a resource of its own there.

    Labels and taints of the group itself the autoscaler reads from EKS, for which it has `eks:DescribeNodegroup` (the
    README above); system, processor and whole GPUs it knows by the instance type (`buildGenericLabels` and
    `buildNodeFromTemplate` of its aws_manager.go).
    """
    tags = template_tags(shape, driver, {}, (), disk_gib)
    labels = {f"{_TEMPLATE}/label/{label}" for label in _TELLING}
    resources = {f"{_TEMPLATE}/resources/ephemeral-storage"}
    if shape.gpus < 1:
        resources.add(f"{_TEMPLATE}/resources/{GPU_RESOURCE}")
    return {key: value for key, value in tags.items() if key in labels | resources}
