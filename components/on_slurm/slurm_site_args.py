"""Arguments of SlurmSite and SifImage, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.slurm.partition_model: edit those, or tools/component_arguments.py,
not this file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi


class SlurmPool(TypedDict):
    """A pool: nodes of one partition with one GPU type."""

    partition: str
    """Partition of Slurm, as sinfo prints it."""
    gres: NotRequired[str]
    """Type of its GPUs in Slurm: k80 for --gres=gpu:k80:1; default: GPUs there have no type."""
    exclusive: NotRequired[bool]
    """The partition gives whole nodes, also to who asks for less. Default: false."""
    max_time_min: NotRequired[int]
    """Longest time of a job there in minutes; default: not known, and Slurm alone refuses."""
    pool: str
    """Name of the pool."""
    nodes: int
    """Expected number of nodes."""
    gpus_per_node: int
    """GPUs of each."""


class SlurmSiteArgs(TypedDict):
    """Arguments of SlurmSite."""

    site: Mapping[str, Any]
    """Access to the cluster, as in `site.slurm` of a stack file."""
    pools: Sequence[SlurmPool]
    """The declared pools."""


class SifImageArgs(TypedDict):
    """Arguments of SifImage."""

    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Image name; also the folder of its files."""
    site: Mapping[str, Any]
    """Access to the cluster, as in `site.slurm` of a stack file."""
