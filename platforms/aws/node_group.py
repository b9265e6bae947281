"""Reads a node group from a component's plain arguments. Pure."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import Field

from errors.problems import Fault
from platforms.aws.flatcar_keys import FlatcarKeys
from platforms.aws.instance_group import InstanceGroupKeys, KubernetesVersion
from platforms.node_keys import PoolName
from workloads.amounts import Gib
from workloads.arguments import Argument, plain
from workloads.arguments import read as read_arguments

_INPUTS = frozenset(
    {
        "cluster_name",
        "region",
        "endpoint",
        "certificate_authority",
        "dns",
        "subnet_ids",
        "security_group_ids",
        "tags",
        "cni_has_role",
    }
)  # may be outputs, or are irrelevant here


class NodeGroup(InstanceGroupKeys):
    """A group with its pool."""

    pool: PoolName
    kubernetes: Annotated[KubernetesVersion | None, Argument(is_required=True)] = Field(
        None, description='Kubernetes version of the nodes, such as "1.34".'
    )
    flatcar: Annotated[FlatcarKeys | None, Argument(is_required=True)] = Field(
        None, description="Nodes on Flatcar: release, SSH keys and downloaded programs."
    )
    root_disk_gib: Annotated[Gib, Argument("int")] = Field(
        description="Encrypted gp3 volume of one node, in GiB, for images and containers."
    )

    @property
    def node_labels(self) -> dict[str, str]:
        """Labels of the nodes."""
        return self.labels_of(self.pool)

    @property
    def recorded_gpus(self) -> dict[str, str | int]:
        """Pool facts for previews: GPU model and GPUs per node; empty without GPUs."""
        shape = self.shape
        return {"gpu": shape.gpu.name, "gpus_per_node": shape.schedulable_gpus} if shape.gpu else {}


def read(name: str, args: Mapping[str, Any], owner: str = "EksGpuNodeGroup") -> NodeGroup:
    """The group in a component's arguments; raises SettingsError with every problem."""

    def of_owner(group: NodeGroup) -> Iterator[Fault]:
        """One component uses EKS machine images, the other Flatcar."""
        if group.flatcar is not None and owner == "EksGpuNodeGroup":
            yield Fault(("flatcar",), "belongs to another component", "use FlatcarGpuNodeGroup")
        elif group.flatcar is None and owner != "EksGpuNodeGroup":
            yield Fault(("flatcar",), "is missing", "name the release, or use EksGpuNodeGroup")

    raw = plain({key: value for key, value in args.items() if key not in _INPUTS})
    return read_arguments(NodeGroup, owner, name, raw, of_owner)
