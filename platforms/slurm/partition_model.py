"""Slurm partition nodes with one GPU type: pool keys of a stack file, also used by jobs."""

import re
from typing import Annotated, Final

from pydantic import BaseModel, Field

from errors.faults import FORM, matching
from workloads.amounts import Count
from workloads.names import Name

_WORD: Final = re.compile(r"[A-Za-z0-9][\w.-]{0,62}", re.ASCII)


_partition = matching(
    _WORD, "is not the name of a partition", "write one that sinfo prints, without the asterisk of a default"
)
_gres = matching(
    _WORD,
    "is not a type of GPUs in Slurm",
    "write the type alone, such as k80: it is what stands between the colons of gpu:k80:4 in sinfo -o %G",
)


class PartitionKeys(BaseModel):
    """Slurm's names and limits for a pool's nodes."""

    model_config = FORM
    partition: Annotated[str, _partition] = Field(description="Partition of Slurm, as sinfo prints it.")
    gres: Annotated[str, _gres] | None = Field(
        None, description="Type of its GPUs in Slurm: k80 for --gres=gpu:k80:1; none: GPUs there have no type."
    )
    exclusive: bool = Field(default=False, description="The partition gives whole nodes, also to who asks for less.")
    max_time_min: Count | None = Field(
        None, description="Longest time of a job there in minutes; none: not known, and Slurm alone refuses."
    )


class Partition(PartitionKeys):
    """A possible pool of a job, in SlurmGpuJob arguments."""

    pool: Name = Field(description="Pool of the stack that the partition is.")


Partitions = Annotated[
    tuple[Partition, ...],
    Field(
        min_length=1, description="Pools that it may land on, in their order: Slurm picks the first that can start it."
    ),
]
