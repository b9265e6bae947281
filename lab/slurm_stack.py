"""The lab's Slurm for a stack: nodes from its pools, accounts and limits from its jobs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from lab.machine import sif_runtime
from lab.machine.slurm_accounting import Qos
from lab.machine.slurm_cluster import ACCOUNT, Cluster
from lab.servers import slurm_files, slurmrestd, sshd
from lab.servers.slurm_config import NodeGroup
from lab.site import ADMIN
from settings.partition_pools import PartitionPool

if TYPE_CHECKING:
    from lab.instance import Instance
    from settings.reading import Stack


def cluster(stack: Stack) -> Cluster:
    """All nodes of all pools. A quality of service gives a user one node's GPUs, whatever it gives on the site."""
    pools = [pool for pool in stack.fleet.pools if isinstance(pool, PartitionPool)]
    ours = [job.slurm for job in stack.jobs if job.slurm]
    named = [stack.site.slurm.account if stack.site.slurm else None, *(each.account for each in ours)]
    gpus = max((pool.gpus_per_node for pool in pools), default=0)
    drivers = [str(pool.driver) for pool in pools if pool.driver]
    return Cluster(
        groups=[_group(pool) for pool in pools],
        accounts=_distinct([ACCOUNT, *named]),
        qos=[Qos(name, gpus) for name in _distinct(each.qos for each in ours)],
        driver=drivers[0] if drivers else None,
        people=users(stack),
    )


def users(stack: Stack) -> list[str]:
    """Who gets an account of the lab for a server: the site's named users, and the administrator."""
    here = stack.site.slurm.hubs if stack.site.slurm else None
    return sorted({*here.accounts, ADMIN}) if here and stack.hubs else []


def access(instance: Instance, stack: Stack) -> dict[str, Any]:
    """`site.slurm` of the overlay: the stack's cluster, at the lab's address."""
    account = slurm_files.account(instance)
    reached = {
        "kind": "ssh",
        "port": instance.ports[sshd.NAME],
        "identity": str(sshd.identity(instance)),
        "known_hosts": str(sshd.known_hosts(instance)),
    }
    hubs = {
        "access": {**reached, "address": f"{slurm_files.hub_account(instance)}@{sshd.ADDRESS}"},
        "inside": sshd.ADDRESS,
        "identity": str(slurm_files.hub_identity(instance)),
        "known_hosts": str(slurm_files.hub_known_hosts(instance)),
        "port": instance.ports[sshd.NAME],
        "accounts": {user: slurm_files.person_account(instance, user) for user in users(stack)},
    }
    return {
        **({"hubs": hubs} if hubs["accounts"] else {}),
        "access": {**reached, "address": f"{account}@{sshd.ADDRESS}"},
        "rest": {"url": slurmrestd.url(instance), "version": slurmrestd.VERSION, "user": account},
        "program": str(sif_runtime.program(instance)),
        "program_version": sif_runtime.VERSION,
        "image_store": str(slurm_files.image_store(instance)),
        "scratch": [str(slurm_files.scratch(instance))],
        "config": str(slurm_files.config(instance)),
        "account": (stack.site.slurm.account if stack.site.slurm else None) or ACCOUNT,
        "insecure_registries": [instance.registry_address],
    }


def _group(pool: PartitionPool) -> NodeGroup:
    return NodeGroup(
        pool=pool.name,
        partition=pool.partition,
        nodes=pool.nodes,
        cpus=int(pool.cpu),
        memory_mib=int(pool.memory_gib * 1024),
        gpus=pool.gpus_per_node,
        gres=pool.gres,
        exclusive=pool.exclusive,
        max_time_min=pool.max_time_min,
    )


def _distinct(names: Iterable[str | None]) -> list[str]:
    return list(dict.fromkeys(name for name in names if name))
