"""The part of `make up`'s summary about Slurm: nodes by partition, how to log in, what is not real."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from lab import site, slurm_stack
from lab.servers import slurm_files, sshd
from settings.partition_pools import PartitionPool

if TYPE_CHECKING:
    from lab.instance import Instance
    from settings.reading import Stack

LAST_LINES: Final = 10  # lines of a log


def logins(instance: Instance, stack: Stack, hub: str, url: str) -> list[str]:
    """How people log in to a hub: only those with an account of the lab."""
    home = slurm_files.home_of(instance, slurm_files.hub_account(instance))
    credentials = home / ".gpu-commons" / "hubs" / hub / "credentials"
    people = " or ".join(user for user in slurm_stack.users(stack) if user != site.ADMIN)
    return [
        f"log in as {people} with the password in {credentials}/login-password",
        f"as administrator: user {site.ADMIN}, {credentials}/admin-password (page: {url}hub/admin)",
        "its certificate is self-signed: a browser asks for confirmation",
    ]


def lines(instance: Instance, stack: Stack, outputs: Mapping[str, Any]) -> list[str]:
    """Partitions with their nodes, logs of ended jobs, the way to the login node."""
    pools = [pool for pool in stack.fleet.pools if isinstance(pool, PartitionPool)]
    wide = max((len(pool.partition) for pool in pools), default=0)
    shown = ["", "  partitions:", *(f"    {pool.partition:<{wide}}  {_nodes(pool)}" for pool in pools)]
    for name, log in sorted((outputs.get("logs") or {}).items()):
        shown += ["", f"  {name}: its log is the output logs.{name} of the stack:"]
        shown += [f"    {line}" for line in (log or "").splitlines()[-LAST_LINES:]]
    return [
        *shown,
        "",
        f"  log in: {login(instance)}",
        "",
        "  this is a lab: Slurm, its accounting and SingularityCE are real; daemons of this machine play the nodes;",
        "  GPUs are device files with nothing behind them, and the driver that --nv brings is a stand-in.",
    ]


def login(instance: Instance) -> str:
    """The command line that opens a shell on the login node."""
    files = ["-i", str(sshd.identity(instance)), "-o", f"UserKnownHostsFile={sshd.known_hosts(instance)}"]
    where = ["-p", str(instance.ports[sshd.NAME]), f"{slurm_files.account(instance)}@{sshd.ADDRESS}"]
    return shlex.join(["ssh", *files, *where])


def _nodes(pool: PartitionPool) -> str:
    """`2 x 4 Tesla K80, driver 470.256.02, whole nodes: gpu-k80-1, gpu-k80-2`"""
    driver = f"driver {pool.driver}" if pool.driver else "driver unknown"
    gpus = f"{pool.gpus_per_node} {pool.gpu.name}, {driver}" if pool.gpu else "no GPU"
    whole = ", whole nodes" if pool.exclusive else ""
    return f"{pool.nodes:>3} x {gpus}{whole}: {', '.join(pool.node_names)}"
