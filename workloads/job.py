"""A batch job, wherever it runs: its keys in a stack file. Pure."""

from __future__ import annotations

from pydantic import Field

from workloads.amounts import Retries, Seconds
from workloads.names import Command
from workloads.workload import Workload

# Whoever sets these chooses GPUs behind the scheduler's back.
VISIBILITY_VARIABLES = frozenset({"NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
DEFAULT_USER = 1000  # of Jupyter's images, and of ours that stand on them


class JobKeys(Workload):
    """Keys of a job in a stack file and among the arguments of GpuJob alike."""

    command: Command = Field(description="Program and its arguments, one list item each.")
    retries: Retries = Field(0, description="How often a failed run is repeated.")
    deadline_s: Seconds | None = Field(None, description="Seconds after which the job is ended; none: never.")
