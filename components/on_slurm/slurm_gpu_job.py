"""SlurmGpuJob: one job on a Slurm cluster, in an image of the stack, with the GPUs that it asks for."""

from collections.abc import Mapping, Sequence
from typing import Any, NotRequired, TypedDict

import pulumi

from components.on_slurm.site import site_of
from components.on_slurm.slurm_jobs import SlurmJob
from errors import UserError
from platforms.slurm.batch_script import batch_script
from platforms.slurm.interactive import interactive_command
from platforms.slurm.job_model import parse_slurm_job


class SlurmPartition(TypedDict):
    """A pool that the job may land on."""

    pool: str
    """Name of the pool."""
    partition: str
    """Partition of Slurm."""
    gres: NotRequired[str]
    """Type of its GPUs in Slurm."""
    exclusive: NotRequired[bool]
    """The partition gives whole nodes."""
    max_time_min: NotRequired[int]
    """Longest time of a job there in minutes."""


class SlurmGpuJobArgs(TypedDict):
    """Arguments of SlurmGpuJob. CPU in cores, memory in GiB, both of each node."""

    site: Mapping[str, Any]
    """How the cluster is reached, as in `site.slurm` of a stack file."""
    sif: pulumi.Input[str]
    """File of the image, such as the `path` of a SifImage."""
    image: pulumi.Input[str]
    """Image by digest, such as the `ref` of a GpuImage."""
    image_name: str
    """Name of the image as people know it; policies find its facts by it."""
    partitions: Sequence[SlurmPartition]
    """Pools that it may land on: Slurm takes the first that can start it."""
    command: Sequence[str]
    """Program and its arguments, without a shell."""
    gpus: int
    """Whole GPUs of each node; 0 for none."""
    cpu: float
    """CPU cores."""
    memory_gib: float
    """Memory."""
    deadline_s: NotRequired[int]
    """Seconds after which Slurm ends it; none: the partition's limit."""
    retries: NotRequired[int]
    """How often a failed run is repeated; default 0."""
    env: NotRequired[Mapping[str, str]]
    """Environment variables; those that choose GPUs are refused."""
    slurm: NotRequired[Mapping[str, Any]]
    """Keys for Slurm: account, qos, array, mail, waits_for, run, nodes."""


class SlurmGpuJob(pulumi.ComponentResource):
    """One job. It runs once for each text, image and run; a job that has ended stays as its outcome."""

    job_id: pulumi.Output[int]
    """Number that Slurm gave it."""
    state: pulumi.Output[str]
    """State when it was looked at last; `pulumi refresh` looks again."""
    exit_code: pulumi.Output[int]
    """Exit code of what it ran; none before its end."""
    log: pulumi.Output[str]
    """End of what it has printed."""
    shell: pulumi.Output[str]
    """Command for a login node: a shell in the same image, in an allocation like the job's."""

    def __init__(self, name: str, args: SlurmGpuJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        given = {key: value for key, value in args.items() if key not in {"site", "sif"}}
        try:
            site, shape = site_of(args["site"]), parse_slurm_job(name, given)
            logs = f"{site.image_store}/logs/{pulumi.get_stack()}"
            batch_script(shape, site, "/image.sif", logs)  # says what cannot be written while nothing is made yet
        except UserError as error:
            raise pulumi.RunError(str(error)) from None
        super().__init__("gpu-commons:index:SlurmGpuJob", name, {**args}, opts)
        sif = pulumi.Output.from_input(args["sif"])
        inputs: dict[str, Any] = {
            "stack": pulumi.get_stack(),
            "job": name,
            "run": shape.slurm.run,
            "text": sif.apply(lambda path: batch_script(shape, site, path, logs)),
            "logs": logs,
            "image": args["image"],
            "image_name": shape.image_name,
            "pools": [each.pool for each in shape.partitions],
            "gpus": shape.gpus,
            "nodes": shape.slurm.nodes,
            "waits_for": shape.slurm.waits_for,
            "site": args["site"],
        }
        job = SlurmJob(f"{name}-job", inputs, pulumi.ResourceOptions(parent=self))
        self.job_id, self.state, self.exit_code, self.log = job.job_id, job.state, job.exit_code, job.log
        self.shell = sif.apply(lambda path: interactive_command(shape, site, path))
        self.register_outputs({"job_id": self.job_id, "state": self.state, "log": self.log, "shell": self.shell})
