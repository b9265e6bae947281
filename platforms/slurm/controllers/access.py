"""Runs programs for Slurm here or on a login node: the only place that does."""

import os
import shlex
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from platforms.slurm.controllers import Unreachable
from platforms.slurm.site_model import LocalAccess, SlurmAccess, SshAccess

ANSWER_WITHIN_S: Final = 60
CONNECT_WITHIN_S: Final = 10
_OF_SSH: Final = 255  # ssh's own failure: https://man.openbsd.org/ssh#EXIT_STATUS


@dataclass(frozen=True, slots=True)
class Done:
    """Exit code and output of a program."""

    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        """Its error message."""
        lines = [line.strip() for line in (self.err or self.out).splitlines() if line.strip()]
        return "; ".join(dict.fromkeys(lines[-6:])) or f"ended with {self.code}"


def run(site: SlurmAccess, argv: Sequence[str], *, given: str = "", within_s: int = ANSWER_WITHIN_S) -> Done:
    """Run one program where Slurm's commands are, with `given` as input. Raises Unreachable."""
    environment = {"SLURM_CONF": site.config} if site.config else {}
    return run_by(site.access, argv, environment, given=given, within_s=within_s)


def run_by(
    access: LocalAccess | SshAccess,
    argv: Sequence[str],
    environment: Mapping[str, str],
    *,
    given: str = "",
    within_s: int = ANSWER_WITHIN_S,
) -> Done:
    """Run one program there with extra variables. Raises Unreachable."""
    if isinstance(access, LocalAccess):
        called, variables = [*argv], {**os.environ, **environment}
    else:
        # One string: ssh passes everything after the host to a shell.
        settings = [f"{key}={value}" for key, value in environment.items()]
        called, variables = [*ssh_command(access), shlex.join(["env", *settings, *argv])], {**os.environ}
    where = "this machine" if isinstance(access, LocalAccess) else access.address
    try:
        done = subprocess.run(
            called,
            input=given,
            capture_output=True,
            text=True,
            errors="replace",
            env=variables,
            timeout=within_s,
            check=False,
        )
    except FileNotFoundError:
        raise Unreachable(f"{called[0]} is not on this machine: install it, or reach a login node by ssh") from None
    except subprocess.TimeoutExpired:
        raise Unreachable(f"{argv[0]} on {where} gave no answer within {within_s} s") from None
    result = Done(done.returncode, done.stdout, done.stderr)
    if result.code == _OF_SSH and isinstance(access, SshAccess):
        raise Unreachable(f"ssh to {where} failed: {result.words}")
    return result


def ssh_command(access: SshAccess) -> list[str]:
    """An ssh command that never prompts and rejects unknown hosts."""
    options = ["BatchMode=yes", "StrictHostKeyChecking=yes", f"ConnectTimeout={CONNECT_WITHIN_S}"]
    if access.known_hosts:
        options.append(f"UserKnownHostsFile={access.known_hosts}")
    if access.identity:
        options.append("IdentitiesOnly=yes")
    identity = ["-i", access.identity] if access.identity else []
    return ["ssh", *(f"-o{each}" for each in options), "-p", str(access.port), *identity, "--", access.address]
