"""User data of a Flatcar node's first boot, from its group's keys and the cluster. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from platforms.aws.flatcar.ignition import User, render
from platforms.aws.flatcar.joining import Cluster, Joining
from platforms.aws.flatcar.node import node_config
from platforms.aws.node_group import NodeGroup


def user_data(group: NodeGroup, cluster: Cluster, public_keys: Sequence[str]) -> str:
    """The rendered config. `public_keys` are the values of `flatcar.ssh_keys`, in order.

    Raises ValueError for an invalid key and for a config above EC2's limit.
    """
    image, keys = group.flatcar_image, group.flatcar
    assert keys is not None  # noqa: S101 - `flatcar_image` has checked it
    references = keys.key_references
    joining = Joining(
        cluster,
        keys.programs.programs,
        vcpu=int(group.shape.vcpu),
        max_pods=keys.max_pods,
        labels=group.node_labels,
        taints=group.node_taints,
    )
    users = (User(name="core", ssh_keys=references),) if references else ()
    config = node_config(image.release, image.source, joining, users)
    return render(config, keys=dict(zip(references, public_keys, strict=True)))
