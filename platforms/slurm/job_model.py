"""Model of a Slurm batch job: its Slurm-specific keys and all SlurmGpuJob arguments."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, Field

from errors.agreements import check
from errors.faults import FORM, Misfit, matching
from errors.problems import Fault
from platforms.slurm.partition_model import Partitions
from workloads.amounts import Count, SecondsOrNever
from workloads.arguments import IMAGE_NAME, ImageReference, plain, read
from workloads.names import Line
from workloads.workload import Env, JobKeys, JobName, OneCommand, chosen_gpus

_RANGE: Final = r"\d{1,7}(-\d{1,7}(:\d{1,7})?)?"
_ARRAY: Final = re.compile(rf"{_RANGE}(,{_RANGE})*(%[1-9]\d{{0,6}})?", re.ASCII)


def _array(value: str) -> str:
    """Format of sbatch: https://slurm.schedmd.com/sbatch.html#OPT_array."""
    fix = "write indexes and ranges, and how many may run at a time: 0-9%2"
    if not _ARRAY.fullmatch(value):
        raise Misfit("is not an array of jobs", fix)
    for part in value.partition("%")[0].split(","):
        first, dash, last = part.partition(":")[0].partition("-")
        if dash and int(last) < int(first):
            raise Misfit("has a range that ends before it begins", fix)
    return value


_address = matching(
    r"""[^\s@,'"]+(@[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?)?""",
    "is not an address for mail",
    "write one such as ops@example.edu, or a user of the site",
)
_word = matching(r"[\w.+-]+", "is not a name that Slurm takes", "use letters, digits, - _ . and +")
Word = Annotated[str, _word]


class Mail(BaseModel):
    """Mail recipient and events."""

    model_config = FORM
    to: Annotated[str, _address] = Field(description="Who gets the mail.")
    on: tuple[Literal["begin", "end", "fail", "requeue", "time_limit", "array_tasks"], ...] = Field(
        ("end", "fail"), min_length=1, description="What is written about."
    )


class SlurmKeys(BaseModel):
    """Slurm-specific job keys."""

    model_config = FORM
    account: Word | None = Field(None, description="Account that it is charged to; none: the site's.")
    qos: Word | None = Field(None, description="Quality of service; none: the account's default.")
    array: Annotated[str, AfterValidator(_array)] | None = Field(
        None, description="Several runs of it, by their indexes, and how many at a time: 0-9%2; none: one run."
    )
    mail: Mail | None = Field(None, description="Mail about it; none: no mail.")
    waits_for: Literal["submission", "end"] = Field(
        "submission", description="What an update waits for: that Slurm took the job, or that it ended well."
    )
    run: Count = Field(1, description="A job runs once for each image, text and run: count up to run it again.")
    nodes: int = Field(1, ge=1, le=10_000, description="Nodes that it runs on, with `gpus` on each of them.")


class SlurmJob(JobKeys):
    """Input of SlurmGpuJob. CPU in cores, memory in GiB, both per node; time in seconds."""

    image: ImageReference
    image_name: Line = Field(description=IMAGE_NAME)
    name: JobName
    command: OneCommand
    gpus: Count = Field(description="Whole GPUs of each node; 0 for none.")
    deadline_s: SecondsOrNever | None = Field(
        None, description="Seconds after which Slurm ends the job; none: the limit of its partition."
    )
    partitions: Partitions
    slurm: SlurmKeys = Field(
        SlurmKeys(), description="Keys for Slurm: account, qos, array, mail, waits_for, run, nodes."
    )
    env: Env = {}  # noqa: RUF012 - pydantic copies it

    @check
    def _env(self) -> Iterator[Fault]:
        yield from chosen_gpus(self.env, "Slurm")

    @property
    def time_min(self) -> int | None:
        """Time limit in minutes, rounded up for Slurm; None: the partition's limit."""
        return -(-self.deadline_s // 60) if self.deadline_s else None

    @property
    def gres(self) -> str | None:
        """Value of --gres, None without GPUs. Pools of several types leave the type to Slurm."""
        if not self.gpus:
            return None
        types = {each.gres for each in self.partitions}
        typed = types.pop() if len(types) == 1 else None
        return f"gpu:{typed}:{self.gpus}" if typed else f"gpu:{self.gpus}"

    @property
    def partition_names(self) -> tuple[str, ...]:
        """Partitions for --partition, each once."""
        return tuple(dict.fromkeys(each.partition for each in self.partitions))


def parse_slurm_job(name: str, args: Mapping[str, Any]) -> SlurmJob:
    """Arguments of SlurmGpuJob. Raises SettingsError with every problem."""
    return read(SlurmJob, f"SlurmGpuJob {name}", name, plain({"name": name, **args}))
