"""Size and updates of a node group, and autoscaler hints for a group without nodes.

Sources: https://docs.aws.amazon.com/eks/latest/APIReference/API_NodegroupScalingConfig.html and
API_NodegroupUpdateConfig.html; https://github.com/kubernetes/autoscaler/blob/master/cluster-autoscaler/cloudprovider/aws/README.md
"""

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
# With this label, a node counts as a GPU node before its device plugin registers; otherwise the autoscaler
# starts a second node meanwhile.
ACCELERATOR: Final = "k8s.amazonaws.com/accelerator"
# GPU feature discovery labels that pods select nodes by; the others repeat them or are the same on all nodes.
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
    """Group size. If an autoscaler owns the desired number, ours is the initial one."""

    least: int
    desired: int
    most: int

    def __str__(self) -> str:
        return f"{self.least}–{self.most}" if self.least != self.most else str(self.most)  # noqa: RUF001


@dataclass(frozen=True, slots=True)
class Updates:
    """How many nodes an update may remove at a time.

    EKS drains each for up to 15 minutes; pods held longer by a disruption budget fail the update, and a group
    cannot change that limit.
    Source: https://docs.aws.amazon.com/eks/latest/userguide/managed-node-update-behavior.html
    """

    nodes: int = 1


def scaling_config(scale: Scale) -> dict[str, int]:
    """Form for `pulumi_aws.eks.NodeGroup`."""
    return {"min_size": scale.least, "desired_size": scale.desired, "max_size": scale.most}


def update_config(updates: Updates) -> dict[str, int]:
    """Form for `pulumi_aws.eks.NodeGroup`."""
    return {"max_unavailable": updates.nodes}


def accelerator_labels(shape: GroupShape) -> dict[str, str]:
    """The label that makes the autoscaler wait for GPUs: `k8s.amazonaws.com/accelerator: nvidia-l4`."""
    return {ACCELERATOR: shape.gpu.gfd_product.lower()} if shape.gpu else {}


def group_taints(taints: Sequence[Taint]) -> list[dict[str, str]]:
    """Taints for `pulumi_aws.eks.NodeGroup`, with effects in EKS's spelling."""
    return [{"key": taint.key, "value": taint.value, "effect": _EFFECTS[taint.effect]} for taint in taints]


def discovery_tags(cluster: str) -> dict[str, str]:
    """Tags by which an autoscaler finds its cluster's groups; EKS sets them on its own."""
    return {"k8s.io/cluster-autoscaler/enabled": "true", f"k8s.io/cluster-autoscaler/{cluster}": "owned"}


def template_tags(
    shape: GroupShape,
    driver: DriverVersion | None,
    labels: Mapping[str, Any],
    taints: Sequence[Taint],
    disk_gib: int,
) -> dict[str, Any]:
    """A future node of an empty group, described to the autoscaler; tags of the auto-scaling group, not of EKS's.

    They state the GPUs too: for a fractional GPU, EC2 reports none. GPU feature discovery labels, set after a node's
    start, are those this driver will report, as far as the GPU table lists them: it does not list names of
    fractional GPUs. `labels` may hold outputs.
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
    """The `template_tags` that an EKS group needs, where each is a separate resource.

    The autoscaler reads the group's labels and taints from EKS, for which it has `eks:DescribeNodegroup` (the
    README above); it derives system, processor and whole GPUs from the instance type (`buildGenericLabels` and
    `buildNodeFromTemplate` of its aws_manager.go).
    """
    tags = template_tags(shape, driver, {}, (), disk_gib)
    labels = {f"{_TEMPLATE}/label/{label}" for label in _TELLING}
    resources = {f"{_TEMPLATE}/resources/ephemeral-storage"}
    if shape.gpus < 1:
        resources.add(f"{_TEMPLATE}/resources/{GPU_RESOURCE}")
    return {key: value for key, value in tags.items() if key in labels | resources}
