"""Runs a probe: on this machine, by ssh, or as a short Slurm job."""

import datetime as dt
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

from cli.probe.script import Job, Probed, read, script
from errors import UserError
from platforms.docker import probe
from platforms.slurm.controllers import SlurmError, Unreachable
from platforms.slurm.controllers.access import Done, run_by
from platforms.slurm.site_model import LocalAccess, SshAccess

Access = LocalAccess | SshAccess
# How long NFS clients may miss a file that a node wrote: acregmax of nfs(5) is 60 s, acdirmin 30 s.
_FILE_WITHIN_S: Final = 60
_EACH_S: Final = 1.0
_SSH_WITHIN_S: Final = 120


class OnLoginNode(UserError):  # noqa: N818 - says what is the matter
    """A login node, where a probe looks for no GPU."""


def here(program: str = "") -> Probed:
    """This machine. Raises OnLoginNode."""
    root = Path("/")
    if probe.is_login_node(root, os.environ):
        raise OnLoginNode(f"{probe.ON_LOGIN_NODE}. Probe from a job instead: gpu-commons probe --via-slurm PARTITION")
    facts = probe.host_facts(root, os.environ, dt.datetime.now(dt.UTC), program=program)
    return Probed(probe.pool_keys(facts), facts)


def by_ssh(access: SshAccess) -> Probed:
    """A host by ssh. Raises OnLoginNode and SlurmError."""
    done = run_by(access, ["sh"], {}, given=script(_text()), within_s=_SSH_WITHIN_S)
    if done.code == probe.LOGIN_NODE:
        raise OnLoginNode(
            f"{access.address}: {probe.ON_LOGIN_NODE}. Probe from a job, there or with a stack that names this node: "
            "gpu-commons probe --via-slurm PARTITION"
        )
    if (facts := read(done.out)) is None:
        raise SlurmError(f"{access.address} was not probed: {done.words}")
    return facts


def by_slurm(  # noqa: PLR0913 - where, what, and how long
    access: Access,
    environment: Mapping[str, str],
    job: Job,
    *,
    program: str = "",
    within_s: int,
    file_within_s: float = _FILE_WITHIN_S,
) -> Probed:
    """A node of a partition, by a job; one that takes too long is cancelled. Raises SlurmError."""
    try:
        done = run_by(access, job.sbatch, environment, given=script(_text(), program), within_s=within_s)
    except (Unreachable, KeyboardInterrupt) as error:
        is_cancelled = _cancel(access, environment, job)
        if isinstance(error, KeyboardInterrupt):
            raise
        raise Unreachable(f"{error}{'; the job was cancelled' if is_cancelled else ''}") from None
    number = done.out.strip().partition(";")[0]
    if not number.isdigit():
        raise SlurmError(f"Slurm rejected the job: {_plain(done)}")
    try:
        return _output(access, environment, job, number, done, time.monotonic() + file_within_s)
    finally:
        with suppress(Unreachable):
            run_by(access, ["rm", "-f", "--", job.output], environment)


def _output(  # noqa: PLR0913, PLR0917 - as above
    access: Access, environment: Mapping[str, str], job: Job, number: str, done: Done, until: float
) -> Probed:
    while True:
        file = run_by(access, ["cat", "--", job.output], environment)
        if facts := read(file.out):
            return facts
        # The output of a failed job holds the reason as soon as any of it is visible.
        if (done.code and file.out.strip()) or time.monotonic() > until:
            break
        time.sleep(_EACH_S)
    if file.code:
        where = "your home there" if isinstance(access, SshAccess) else "this folder"
        raise SlurmError(
            f"job {number} ended (exit code {done.code}), but its output {job.output} is not in {where}: "
            "use a folder that login and compute nodes share"
        )
    words = "; ".join(file.out.strip().splitlines()[-4:]) or "nothing"
    raise SlurmError(f"job {number} ended with exit code {done.code} and printed no facts: {words}")


def _cancel(access: Access, environment: Mapping[str, str], job: Job) -> bool:
    try:
        return run_by(access, ["scancel", f"--name={job.name}"], environment).code == 0
    except Unreachable:
        return False


def _plain(done: Done) -> str:
    return done.words.replace("sbatch: ", "").replace("error: ", "").replace("Batch job submission failed: ", "")


def _text() -> str:
    return Path(probe.__file__).read_text(encoding="utf-8")
