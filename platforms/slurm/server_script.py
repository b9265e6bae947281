"""Writes a user server's job as text for sbatch: one text per profile, for all its users. Pure.

The hub's agent submits it as the user; its first argument is the file with this server's own variables.
It contains no token: a site may store all job texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from platforms.slurm.batch_script import prepared, program_options, quoted, variables_prefix, whole
from platforms.slurm.hub_model import Profile
from platforms.slurm.job_model import SlurmJob
from platforms.slurm.site_model import SlurmAccess
from workloads.hub import Cull
from workloads.hub_options import kernel_culling

COMMAND = ("batchspawner-singleuser", "jupyterhub-singleuser")


def server_script(profile: Profile, site: SlurmAccess, sif: str, cull: Cull) -> str:
    """The script. `sif` is a file shared by login and compute nodes. Raises Unwritable."""
    job = server_job(profile)
    return whole(job, site, _commands(job, site, sif, kernel_culling(cull)), {})


def server_job(profile: Profile) -> SlurmJob:
    """A server as a job."""
    return SlurmJob(
        name=profile.name,
        image=profile.image,
        image_name=profile.image_name,
        gpus=profile.gpus,
        cpu=profile.cpu,
        memory_gib=profile.memory_gib,
        deadline_s=60 * profile.time_min,
        partitions=profile.partitions,
        command=COMMAND,
    )


def _commands(job: SlurmJob, site: SlurmAccess, sif: str, arguments: Sequence[str]) -> Iterator[str]:
    prefix = variables_prefix(site)
    yield from prepared(job, site)
    yield "while IFS= read -r -d '' pair; do"
    yield "  [[ $pair =~ ^(JUPYTERHUB_[A-Z0-9_]+|JPY_API_TOKEN)= ]] || continue"
    yield f'  export "{prefix}$pair"'
    yield 'done < "$1" || exit 1'
    yield 'rm -f "$1"'
    # Packages installed below a home are for another Python.
    yield f"export {prefix}PYTHONNOUSERSITE=1"
    yield 'home=$(getent passwd "$(id -u)" | cut -d: -f6)'
    # The node's address for Slurm and the hub.
    yield "address=$(scontrol show node --oneliner \"$SLURMD_NODENAME\" | sed -n 's/.* NodeAddr=\\([^ ]*\\).*/\\1/p')"
    # Kernels have their own sessions: in a PID namespace they end with their server, whatever Slurm tracks.
    program = [quoted(site.program), "exec", "--pid", *program_options(site, gpus=job.gpus)]
    places = ['--workdir "$scratch"', '--home "$home"', '--pwd "$home"', quoted(sif)]
    yield "code=0"
    yield f'{" ".join([*program, *places, *job.command, *map(quoted, arguments)])} --ip="$address" || code=$?'
    yield 'exit "$code"'
