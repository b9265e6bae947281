"""Stack file keys of a batch job on any platform. Pure."""

from __future__ import annotations

from pydantic import Field

from workloads.amounts import Retries, Seconds
from workloads.names import Command
from workloads.workload import Workload

# Setting these selects GPUs behind the scheduler's back.
VISIBILITY_VARIABLES = frozenset({"NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
DEFAULT_USER = 1000  # in Jupyter's images and ours based on them


class JobKeys(Workload):
    """Keys of a job, shared by stack files and GpuJob arguments."""

    command: Command = Field(description="Program and its arguments, one list item each.")
    retries: Retries = Field(0, description="How often a failed run is repeated.")
    deadline_s: Seconds | None = Field(None, description="Seconds after which the job is ended; none: never.")
