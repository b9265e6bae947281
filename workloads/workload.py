"""Common requests of servers, kernels and jobs, in a stack file or component arguments. Pure."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from errors.faults import FORM
from workloads.amounts import Cores, Count, Gib
from workloads.names import Name

Pools = Annotated[tuple[Name, ...], Field(min_length=1)]


class Placed(BaseModel):
    """Placement."""

    model_config = FORM
    pool: Name | None = Field(None, description="Pool it runs on.")
    pools: Pools | None = Field(None, description="Several pools in place of pool: it runs on a node of any of them.")

    @property
    def named_pools(self) -> tuple[str, ...]:
        """Pools named by `pool` or `pools`."""
        return self.pools or tuple(filter(None, [self.pool]))


class Amounts(BaseModel):
    """CPU in cores, memory in GiB."""

    model_config = FORM
    gpus: Count = Field(0, description="Whole GPUs; 0 for none.")
    cpu: Cores = Field(description="CPU cores.")
    memory_gib: Gib = Field(description="Memory in GiB.")
    shm_gib: Gib | None = Field(None, description="Shared memory at /dev/shm in GiB, part of the memory.")

    @property
    def shared_memory_gib(self) -> float:
        """Data loaders pass batches through /dev/shm; a container's default 64 MiB cause a bus error."""
        if self.shm_gib is not None:
            return self.shm_gib
        return self.memory_gib / 4 if self.gpus else 0

    @property
    def size(self) -> str:
        """Size for users: 1 GPU, 4 CPU cores, 16 GiB memory."""
        cards = "No GPU" if not self.gpus else f"{self.gpus} GPU{'s' if self.gpus > 1 else ''}"
        cores = f"{self.cpu:g} CPU core{'' if self.cpu == 1 else 's'}"
        return ", ".join([cards, cores, f"{self.memory_gib:g} GiB memory"])


class Workload(Amounts, Placed):  # keys of the last base come first
    """Placement and resources of a workload."""
