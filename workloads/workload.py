"""Common requests of servers, kernels and jobs, in a stack file or component arguments. Pure."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Final

from pydantic import BaseModel, Field

from errors.agreements import check
from errors.faults import FORM
from errors.problems import Fault
from workloads.amounts import Cores, Count, Gib, Retries, Seconds
from workloads.names import Command, Line, Name

# Setting these selects GPUs behind the scheduler's back.
VISIBILITY_VARIABLES: Final = frozenset({"NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"})
DEFAULT_USER: Final = 1000  # in Jupyter's images and ours based on them

DEADLINE: Final = "Seconds after which the job is ended; none: never."
Pools = Annotated[tuple[Name, ...], Field(min_length=1)]


def at_most(model: BaseModel, part: str, whole: str, why: str = "") -> Iterator[Fault]:
    """An amount that is above the one that it is part of."""
    amount, limit = getattr(model, part), getattr(model, whole)
    if amount is not None and amount > limit:
        yield Fault((part,), f"is above {whole}, which is {limit:g}", f"write at most {limit:g}{why}", amount)


class Placed(BaseModel):
    """Placement."""

    model_config = FORM
    pool: Name | None = Field(None, description="Pool it runs on.")
    pools: Pools | None = Field(None, description="Several pools in place of pool: it runs on a node of any of them.")

    @check
    def _pools_once(self) -> Iterator[Fault]:
        if self.pools and self.pool is not None:
            yield Fault(("pools",), "is given beside pool", "keep one of the two: pool for one pool, pools for several")
        for index, name in enumerate(named := self.pools or ()):
            if name in named[:index]:
                yield Fault(("pools", index), "is listed twice", "name each pool once", name)

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

    @check
    def _within_memory(self) -> Iterator[Fault]:
        yield from at_most(self, "shm_gib", "memory_gib", ": shared memory is part of the memory")

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


class JobKeys(Workload):
    """Keys of a job, shared by stack files and GpuJob arguments."""

    command: Command = Field(description="Program and its arguments, one list item each.")
    retries: Retries = Field(0, description="How often a failed run is repeated.")
    deadline_s: Seconds | None = Field(None, description=DEADLINE)


JobName = Annotated[Name, Field(description="Name of the job.")]
Env = Annotated[dict[Line, str], Field(description="Environment variables; those that select GPUs are refused.")]
OneCommand = Annotated[Command, Field(description="Program and its arguments, one list item each, without a shell.")]


def chosen_gpus(env: Mapping[str, str], by: str) -> Iterator[Fault]:
    """Variables that would choose GPUs; `by` sets them."""
    for key in sorted(VISIBILITY_VARIABLES & env.keys()):
        yield Fault(("env", key), f"is set by {by}", "leave it out, and ask for GPUs by gpus")
