"""Writes a job as text for sbatch: Slurm options, then the image with its options. Pure.

    batch_script(job, site, "/projects/images/cupy/0123456789ab.sif", "/projects/images/logs/comet")

Options: https://slurm.schedmd.com/sbatch.html. sbatch reads `#SBATCH` lines up to the first command, so
job values appear before that command only if `written` accepted them; after it, they are quoted
for the shell. The job's key is not in the text: sbatch gets it separately (`controllers`).
"""

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath
from typing import Final

from errors import UserError
from platforms.slurm.job_model import SlurmJob
from platforms.slurm.site_model import SlurmAccess

MARK: Final = "#SBATCH --"
# No space, quote, backslash or hash: sbatch would end, join or cut the value there.
_PLAIN: Final = re.compile(r"[\w./:,@+=%~-]+", re.ASCII)
_WORKING_FOLDER: Final = "/tmp"  # noqa: S108 - on every node, and inside every image
# Variables about a program's allocation; the rest of the node's environment is excluded.
_PASSED: Final = (
    "SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_JOB_PARTITION", "SLURM_JOB_NODELIST", "SLURM_NNODES", "SLURM_PROCID",
    "SLURM_ARRAY_TASK_ID", "SLURM_CPUS_PER_TASK", "SLURM_RESTART_COUNT",
)  # fmt: skip
_BEFORE_SIF: Final = 3  # Singularity 3.0 brought SIF: https://github.com/apptainer/singularity/releases/tag/3.0.0


class Unwritable(UserError):  # noqa: N818 - the name states the fault
    """A value impossible in batch scripts, or a program unable to run a job; the message says which."""


def batch_script(job: SlurmJob, site: SlurmAccess, sif: str, logs: str) -> str:
    """The script. `sif` and `logs` are a file and a folder shared by login and compute nodes.

    Raises Unwritable.
    """
    if "%" in logs:
        raise Unwritable(f"--output: the folder {logs!r} has a %, which Slurm would replace: rename it")
    return whole(job, site, _commands(job, site, sif), {"output": log_file(logs, job)})


def whole(job: SlurmJob, site: SlurmAccess, commands: Iterable[str], more: Mapping[str, str]) -> str:
    """A script: the job's Slurm options, `more` options, and its commands. Raises Unwritable."""
    # Retries append to the first run's output; the submitter's environment is not passed on.
    pairs = (*_options(job, site), *more.items(), ("open-mode", "append"), ("export", "NONE"))
    options = [f"{MARK}{name}={written(name, value)}" for name, value in pairs]
    retry = "requeue" if job.retries else "no-requeue"  # otherwise the site's default applies
    return "\n".join(["#!/bin/bash", *options, f"{MARK}{retry}", "", *commands, ""])


def log_file(logs: str, job: SlurmJob) -> str:
    """Slurm's log file for the job; `%j`, `%A` and `%a` are Slurm's."""
    return f"{logs}/{job.name}-{'%A_%a' if job.slurm.array else '%j'}.log"


def options_of(text: str) -> dict[str, str]:
    """Options of a script as sbatch reads them: up to the first command line. Flags have an empty value."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith(MARK):
            name, _, value = line.removeprefix(MARK).partition("=")
            found[name] = value
        elif line.strip() and not line.startswith("#"):
            break
    return found


def written(name: str, value: str) -> str:
    """The value, if safe in an `#SBATCH` line. Raises Unwritable."""
    if not _PLAIN.fullmatch(value):
        raise Unwritable(
            f"--{name}: {value!r} cannot be written into a batch script: use letters, digits and ./:,@+=~-_"
        )
    return value


def program_options(site: SlurmAccess, *, gpus: int) -> list[str]:
    """Options of the container program, before the image. Raises Unwritable.

    `--nv` without a GPU warns (hosts without a driver), so only jobs with GPUs get it.
    """
    version = site.program_version
    is_singularity = PurePosixPath(site.program).name == "singularity"
    if version and is_singularity and int(version.partition(".")[0]) < _BEFORE_SIF:
        raise Unwritable(f"{site.program} {version} reads no SIF: install 3.0 or newer, and correct program_version")
    return ["--cleanenv", "--contain", *(["--nv"] if gpus else [])]


def variables_prefix(site: SlurmAccess) -> str:
    """Prefix of caller variables that reach a program inside, in spite of --cleanenv."""
    # Apptainer accepts the old name with a warning: https://apptainer.org/docs/user/main/singularity_compatibility.html
    return "SINGULARITYENV_" if PurePosixPath(site.program).name == "singularity" else "APPTAINERENV_"


def prepared(job: SlurmJob, site: SlurmAccess) -> Iterator[str]:
    """Commands before the image: the job's own folder, its GPUs, and variables about its allocation."""
    prefix = variables_prefix(site)
    yield "scratch=$(mktemp -d) || exit 1"
    yield "trap 'rm -rf \"$scratch\"' EXIT"
    if job.gpus:
        # Otherwise a partition without GPUs would run the job on the CPU for hours.
        yield ': "${CUDA_VISIBLE_DEVICES:?Slurm gave this job no GPU}"'
    else:
        yield "export CUDA_VISIBLE_DEVICES="
    yield f"for name in {' '.join((*_PASSED, 'CUDA_VISIBLE_DEVICES'))}; do"
    yield f'  [ -z "${{!name+is set}}" ] || export "{prefix}$name=${{!name}}"'
    yield "done"


def _options(job: SlurmJob, site: SlurmAccess) -> Iterator[tuple[str, str]]:
    yield "partition", ",".join(job.partition_names)
    yield "nodes", str(job.slurm.nodes)
    yield "ntasks-per-node", "1"
    yield "cpus-per-task", str(math.ceil(job.cpu))
    yield "mem", f"{math.ceil(job.memory_gib * 1024)}M"
    if job.gres:
        yield "gres", job.gres
    if job.time_min:
        yield "time", str(job.time_min)
    if account := job.slurm.account or site.account:
        yield "account", account
    if job.slurm.qos:
        yield "qos", job.slurm.qos
    if job.slurm.array:
        yield "array", job.slurm.array
    if job.slurm.mail:
        yield "mail-user", job.slurm.mail.to
        yield "mail-type", ",".join(each.upper() for each in job.slurm.mail.on)
    yield "chdir", _WORKING_FOLDER


def _commands(job: SlurmJob, site: SlurmAccess, sif: str) -> Iterator[str]:
    if job.slurm.nodes > 1:  # on each node, because nodes have different devices
        body = "\n".join([*_on_node(job, site, sif), 'exit "$code"'])
        yield "code=0"
        yield f"srun --export=ALL bash -c {quoted(body)} || code=$?"
    else:
        yield from _on_node(job, site, sif)
    if job.retries:
        yield f'if [ "$code" -ne 0 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {job.retries} ]; then'
        yield '  scontrol requeue "$SLURM_JOB_ID"'
        yield "fi"
    yield 'exit "$code"'


def _on_node(job: SlurmJob, site: SlurmAccess, sif: str) -> Iterator[str]:
    yield from prepared(job, site)
    prefix = variables_prefix(site)
    for name, value in sorted(job.env.items()):
        if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
            raise Unwritable(f"env: {name!r} is not a name of a variable: use letters, digits and _")
        yield f"export {prefix}{name}={quoted(value)}"
    options = program_options(site, gpus=job.gpus)
    yield "code=0"
    run = [quoted(site.program), "exec", *options, '--workdir "$scratch"', quoted(sif)]
    yield f"{' '.join([*run, *map(quoted, job.command)])} || code=$?"


def quoted(value: str) -> str:
    """For the shell. Raises Unwritable."""
    if "\0" in value:
        raise Unwritable("a NUL character (U+0000) cannot be written into a batch script: remove it")
    return shlex.quote(value)


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
