"""The job of a user's server as text for sbatch: one for each profile, the same for all its users. Pure.

The agent of the hub submits it as the user, with the file of the variables that only this server knows as its first
argument. No token is in it: a site may keep the texts of all jobs.
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
    """The whole text. `sif` is a file that login and compute nodes share. Raises Unwritable."""
    job = server_job(profile)
    return whole(job, site, _commands(job, site, sif, kernel_culling(cull)), {})


def server_job(profile: Profile) -> SlurmJob:
    """A server as the job that it is."""
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
    # What somebody installed below a home is for another Python.
    yield f"export {prefix}PYTHONNOUSERSITE=1"
    yield 'home=$(getent passwd "$(id -u)" | cut -d: -f6)'
    # Of all addresses of the node the one by which Slurm and the hub reach it.
    yield "address=$(scontrol show node --oneliner \"$SLURMD_NODENAME\" | sed -n 's/.* NodeAddr=\\([^ ]*\\).*/\\1/p')"
    # Kernels have sessions of their own: in a PID namespace they end with their server, whatever Slurm follows.
    program = [quoted(site.program), "exec", "--pid", *program_options(site, gpus=job.gpus)]
    places = ['--workdir "$scratch"', '--home "$home"', '--pwd "$home"', quoted(sif)]
    yield "code=0"
    yield f'{" ".join([*program, *places, *job.command, *map(quoted, arguments)])} --ip="$address" || code=$?'
    yield 'exit "$code"'
