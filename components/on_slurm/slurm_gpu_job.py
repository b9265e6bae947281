"""SlurmGpuJob: one job on a Slurm cluster, in an image of the stack, with its GPUs."""

from typing import Any

import pulumi

from components.argument_errors import explained
from components.on_slurm.site import site_of
from components.on_slurm.slurm_gpu_job_args import SlurmGpuJobArgs
from components.on_slurm.slurm_jobs import SlurmJob
from platforms.slurm.batch_script import batch_script, interactive_command
from platforms.slurm.job_model import parse_slurm_job


class SlurmGpuJob(pulumi.ComponentResource):
    """One job. It runs once per text, image and run; a finished job stays as its outcome."""

    job_id: pulumi.Output[int]
    """Slurm's job ID."""
    state: pulumi.Output[str]
    """State at the last check; `pulumi refresh` checks again."""
    exit_code: pulumi.Output[int]
    """Exit code; none until the job ends."""
    log: pulumi.Output[str]
    """End of its output."""
    shell: pulumi.Output[str]
    """Login node command: a shell in the same image, in an allocation like the job's."""

    def __init__(self, name: str, args: SlurmGpuJobArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        given = {key: value for key, value in args.items() if key not in {"site", "sif"}}
        with explained():
            site, shape = site_of(args["site"]), parse_slurm_job(name, given)
            logs = f"{site.image_store}/logs/{pulumi.get_stack()}"
            batch_script(shape, site, "/image.sif", logs)  # raises for unwritable values before anything is created
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
