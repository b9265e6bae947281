"""A job as text for sbatch: what it asks Slurm for, then the image with its options before it. Pure.

    batch_script(job, site, "/projects/images/cupy/0123456789ab.sif", "/projects/images/logs/comet")

Options are those of https://slurm.schedmd.com/sbatch.html. sbatch reads `#SBATCH` lines up to the first command, so
nothing of a job's own stands before that command unless `written` let it through, and what stands behind it is quoted
for the shell. The job's key is no part of the text: sbatch gets it beside the text (`controllers`).
"""

from __future__ import annotations

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
# No space, quote, backslash or hash: sbatch would end, join or cut a value there.
_PLAIN: Final = re.compile(r"[\w./:,@+=%~-]+", re.ASCII)
_WORKING_FOLDER: Final = "/tmp"  # noqa: S108 - on every node, and inside every image
# What a program asks for about its allocation; everything else of the node's environment stays outside.
_PASSED: Final = (
    "SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_JOB_PARTITION", "SLURM_JOB_NODELIST", "SLURM_NNODES", "SLURM_PROCID",
    "SLURM_ARRAY_TASK_ID", "SLURM_CPUS_PER_TASK", "SLURM_RESTART_COUNT",
)  # fmt: skip
_BEFORE_SIF: Final = 3  # Singularity 3.0 brought SIF: https://github.com/apptainer/singularity/releases/tag/3.0.0


class Unwritable(UserError):  # noqa: N818 - the name states the fault
    """A value that no batch script can hold, or a program that cannot do what a job needs; its words say which."""


def batch_script(job: SlurmJob, site: SlurmAccess, sif: str, logs: str) -> str:
    """The whole text. `sif` and `logs` are a file and a folder that login and compute nodes share.

    Raises Unwritable.
    """
    if "%" in logs:
        raise Unwritable(f"--output: the folder {logs!r} has a %, which Slurm would replace: rename it")
    return whole(job, site, _commands(job, site, sif), {"output": log_file(logs, job)})


def whole(job: SlurmJob, site: SlurmAccess, commands: Iterable[str], more: Mapping[str, str]) -> str:
    """A text: what the job asks Slurm for, `more` options, and its commands. Raises Unwritable."""
    # A repeated run keeps the output of the first one; nothing of the submitter's environment comes along.
    pairs = (*_options(job, site), *more.items(), ("open-mode", "append"), ("export", "NONE"))
    options = [f"{MARK}{name}={written(name, value)}" for name, value in pairs]
    retry = "requeue" if job.retries else "no-requeue"  # without either, the site's default decides
    return "\n".join(["#!/bin/bash", *options, f"{MARK}{retry}", "", *commands, ""])


def log_file(logs: str, job: SlurmJob) -> str:
    """Where Slurm writes what the job prints; `%j`, `%A` and `%a` are Slurm's."""
    return f"{logs}/{job.name}-{'%A_%a' if job.slurm.array else '%j'}.log"


def options_of(text: str) -> dict[str, str]:
    """Options of a text as sbatch reads them: up to the first line that is a command. A flag's value is empty."""
    found: dict[str, str] = {}
    for line in text.splitlines():
        if line.startswith(MARK):
            name, _, value = line.removeprefix(MARK).partition("=")
            found[name] = value
        elif line.strip() and not line.startswith("#"):
            break
    return found


def written(name: str, value: str) -> str:
    """The value, where it means itself in an `#SBATCH` line. Raises Unwritable."""
    if not _PLAIN.fullmatch(value):
        raise Unwritable(
            f"--{name}: {value!r} cannot be written into a batch script: use letters, digits and ./:,@+=~-_"
        )
    return value


def program_options(site: SlurmAccess, *, gpus: int) -> list[str]:
    """Options of the program that starts images; they go before the image. Raises Unwritable.

    `--nv` without a GPU only warns (hosts without a driver), so only jobs with GPUs get it.
    """
    version = site.program_version
    is_singularity = PurePosixPath(site.program).name == "singularity"
    if version and is_singularity and int(version.partition(".")[0]) < _BEFORE_SIF:
        raise Unwritable(f"{site.program} {version} reads no SIF: install 3.0 or newer, and correct program_version")
    return ["--cleanenv", "--contain", *(["--nv"] if gpus else [])]


def variables_prefix(site: SlurmAccess) -> str:
    """What a variable of the caller begins with to reach a program inside, in spite of --cleanenv."""
    # Apptainer reads the old name as well, and warns of it: https://apptainer.org/docs/user/main/singularity_compatibility.html
    return "SINGULARITYENV_" if PurePosixPath(site.program).name == "singularity" else "APPTAINERENV_"


def prepared(job: SlurmJob, site: SlurmAccess) -> Iterator[str]:
    """Commands before the image: a folder of the job's own, its GPUs and what a program may know of its allocation."""
    prefix = variables_prefix(site)
    yield "scratch=$(mktemp -d) || exit 1"
    yield "trap 'rm -rf \"$scratch\"' EXIT"
    if job.gpus:
        # Else a partition without GPUs of its own would run the job on the processor, for hours.
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
    if job.slurm.nodes > 1:  # on each of its nodes, which have devices of their own
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
