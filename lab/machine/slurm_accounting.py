"""Accounts and limits in the accounting of the lab's Slurm: adds missing ones, removes none."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lab import processes
from lab.servers import slurm_files
from lab.servers.slurm_config import CLUSTER

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools


@dataclass(frozen=True, slots=True)
class Qos:
    """A quality of service: jobs that ask for it get its limits."""

    name: str
    max_gpus: int  # total of a user's running jobs


def ensure_cluster(instance: Instance, tools: Tools) -> None:
    """The controller of a cluster unknown to the accounting refuses to start. Safe to repeat."""
    if CLUSTER not in _shown(instance, tools, "cluster", "cluster"):
        _add(instance, tools, "cluster", CLUSTER)


def ensure(instance: Instance, tools: Tools, accounts: Iterable[str], qos: Iterable[Qos], user: str) -> None:
    """Accounts and limits, and the user in each account. Raises LabError. Safe to repeat.

    The controller must run: it tells the accounting which resources exist.
    """
    missing = [each for each in qos if each.name not in _shown(instance, tools, "qos", "name")]
    for each in missing:
        _add(instance, tools, "qos", each.name)
    for each in qos:
        limit = f"MaxTRESPerUser=gres/gpu={each.max_gpus}"
        _sacctmgr(instance, tools, "modify", "qos", each.name, "set", limit)
    known = {tuple(line.split("|")) for line in _shown(instance, tools, "associations", "account,user")}
    levels = f"qos=normal{''.join(f',{each.name}' for each in qos)}"
    for account in accounts:
        if (account, "") not in known:
            _add(instance, tools, "account", account, f"cluster={CLUSTER}")
        if (account, user) not in known:
            _add(instance, tools, "user", user, f"account={account}")
    _sacctmgr(instance, tools, "modify", "user", user, "set", levels)


def _shown(instance: Instance, tools: Tools, what: str, columns: str) -> list[str]:
    return _sacctmgr(instance, tools, "--noheader", "--parsable2", "show", what, f"format={columns}").splitlines()


def _add(instance: Instance, tools: Tools, *words: str) -> None:
    _sacctmgr(instance, tools, "add", *words)


def _sacctmgr(instance: Instance, tools: Tools, *words: str) -> str:
    argv = [str(tools.path("sacctmgr")), "--immediate", *words]
    return processes.run(argv, env=slurm_files.environment(instance), timeout_s=60)
