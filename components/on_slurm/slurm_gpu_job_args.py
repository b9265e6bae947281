"""Arguments of SlurmGpuJob, for Pulumi and type checkers.

Written by `make docs` from the models in platforms.slurm.job_model, platforms.slurm.partition_model: edit those, or
tools/component_arguments.py, not this file.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi


class SlurmPartition(TypedDict):
    """A pool the job may run on."""

    partition: str
    """Partition of Slurm, as sinfo prints it."""
    gres: NotRequired[str]
    """Type of its GPUs in Slurm: k80 for --gres=gpu:k80:1; default: GPUs there have no type."""
    exclusive: NotRequired[bool]
    """The partition gives whole nodes, also to who asks for less. Default: false."""
    max_time_min: NotRequired[int]
    """Longest time of a job there in minutes; default: not known, and Slurm alone refuses."""
    pool: str
    """Pool of the stack that the partition is."""


class SlurmGpuJobArgs(TypedDict):
    """Arguments of SlurmGpuJob. CPU in cores, memory in GiB, both per node."""

    gpus: int
    """Whole GPUs of each node; 0 for none."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory in GiB."""
    command: Sequence[str]
    """Program and its arguments, one list item each, without a shell."""
    retries: NotRequired[int]
    """How often a failed run is repeated. Default: 0."""
    deadline_s: NotRequired[int]
    """Seconds after which Slurm ends the job; default: the limit of its partition."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies look up its facts by it."""
    partitions: Sequence[SlurmPartition]
    """Pools that it may land on, in their order: Slurm picks the first that can start it."""
    slurm: NotRequired[Mapping[str, Any]]
    """Keys for Slurm: account, qos, array, mail, waits_for, run, nodes."""
    env: NotRequired[Mapping[str, str]]
    """Environment variables; those that select GPUs are refused."""
    site: Mapping[str, Any]
    """Access to the cluster, as in `site.slurm` of a stack file."""
    sif: pulumi.Input[str]
    """Image file, such as the `path` of a SifImage."""
