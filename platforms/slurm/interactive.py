"""A shell in a job's image and an allocation like the job's: one spec for people and batch jobs. Pure."""

from __future__ import annotations

import math
import shlex

from platforms.slurm.batch_script import program_options, variables_prefix, written
from platforms.slurm.job_model import SlurmJob
from platforms.slurm.site_model import SlurmAccess


def interactive_command(job: SlurmJob, site: SlurmAccess, sif: str) -> str:
    """One line for a login node: `srun --pty … PROGRAM shell … IMAGE`. Raises Unwritable.

    Without the job's array, mail and retries: it is interactive.
    """
    requested = {
        "partition": ",".join(job.partition_names),
        "nodes": "1",
        "ntasks": "1",
        "cpus-per-task": str(math.ceil(job.cpu)),
        "mem": f"{math.ceil(job.memory_gib * 1024)}M",
        "gres": job.gres,
        "time": str(job.time_min) if job.time_min else None,
        "account": job.slurm.account or site.account,
        "qos": job.slurm.qos,
    }
    options = [f"--{name}={written(name, value)}" for name, value in requested.items() if value]
    devices = f'export {variables_prefix(site)}CUDA_VISIBLE_DEVICES="${{CUDA_VISIBLE_DEVICES:-}}"; '
    shell = shlex.join([site.program, "shell", *program_options(site, gpus=job.gpus), sif])
    return shlex.join(["srun", *options, "--pty", "bash", "-c", f"{devices}exec {shell}"])
