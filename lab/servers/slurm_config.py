"""Configuration of the lab's Slurm: many nodes on one machine.

Keys by https://slurm.schedmd.com/archive/slurm-22.05.8/slurm.conf.html, gres.conf.html and slurmdbd.conf.html.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

CLUSTER: Final = "lab"  # in a database that no other cluster uses


@dataclass(frozen=True, slots=True)
class NodeGroup:
    """Identical nodes of a partition: a pool of the stack."""

    pool: str
    partition: str
    nodes: int
    cpus: int
    memory_mib: int
    gpus: int = 0  # of each node
    gres: str | None = None  # Slurm's type of the GPUs
    exclusive: bool = False
    max_time_min: int | None = None

    @property
    def node_names(self) -> tuple[str, ...]:
        return tuple(f"{self.pool}-{number}" for number in range(1, self.nodes + 1))


@dataclass(frozen=True, slots=True)
class Place:
    """This cluster's files, sockets and ports."""

    hostname: str
    munge_socket: Path
    state: Path
    spool: Path
    run: Path  # for PID files
    controller_port: int
    accounting_port: int
    node_ports: Mapping[str, int]  # by node
    token_key: Path  # signs tokens


def slurm_conf(groups: Sequence[NodeGroup], place: Place) -> str:
    """`slurm.conf`. A time above the partition's is refused at submission, as is a GPU that no node has."""
    accounted = ["gres/gpu", *(f"gres/gpu:{gres}" for gres in _types(groups))]
    lines = [
        f"ClusterName={CLUSTER}",
        f"SlurmctldHost={place.hostname}(127.0.0.1)",
        f"SlurmctldPort={place.controller_port}",
        "SlurmUser=root",
        "SlurmdUser=root",
        "AuthType=auth/munge",
        "CredType=cred/munge",
        f"AuthInfo=socket={place.munge_socket}",
        *_tokens(place),
        "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",
        f"StateSaveLocation={place.state}",
        f"SlurmdSpoolDir={place.spool}/%n",
        f"SlurmctldPidFile={place.run}/slurmctld.pid",
        f"SlurmdPidFile={place.run}/slurmd-%n.pid",
        "SlurmdParameters=config_overrides",  # nodes have more processors than the machine that they all run on
        "ReturnToService=2",
        "MpiDefault=none",
        "ProctrackType=proctrack/linuxproc",
        "TaskPlugin=task/none",
        "JobAcctGatherType=jobacct_gather/none",
        "SwitchType=switch/none",
        "SelectType=select/cons_tres",
        "SelectTypeParameters=CR_Core_Memory",
        "GresTypes=gpu",
        "EnforcePartLimits=ALL",
        "SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2",
        "InactiveLimit=0",
        "KillWait=5",
        "MinJobAge=300",
        "SlurmctldTimeout=60",
        "SlurmdTimeout=60",
        "AccountingStorageType=accounting_storage/slurmdbd",
        "AccountingStorageHost=127.0.0.1",
        f"AccountingStoragePort={place.accounting_port}",
        f"AccountingStoragePass={place.munge_socket}",
        f"AccountingStorageTRES={','.join(accounted)}",
        "AccountingStorageEnforce=associations,limits,qos,safe",
        "AccountingStoreFlags=job_comment,job_script",
        *_nodes(groups, place),
        *_partitions(groups),
    ]
    return "\n".join(lines) + "\n"


def gres_conf(groups: Iterable[NodeGroup]) -> str:
    """`gres.conf`: the device files of each node's GPUs."""
    lines = ["AutoDetect=off"]
    for group in groups:
        if group.gpus:
            files = f"/dev/nvidia{_range(group.gpus)}"
            kind = f" Type={group.gres}" if group.gres else ""
            lines += [f"NodeName={name} Name=gpu{kind} File={files}" for name in group.node_names]
    return "\n".join(lines) + "\n"


def slurmdbd_conf(place: Place) -> str:
    """`slurmdbd.conf`. The database knows its user by the socket: there is no password."""
    lines = [
        "AuthType=auth/munge",
        f"AuthInfo=socket={place.munge_socket}",
        *_tokens(place),
        "DbdHost=localhost",
        "DbdAddr=127.0.0.1",
        f"DbdPort={place.accounting_port}",
        "SlurmUser=root",
        f"PidFile={place.run}/slurmdbd.pid",
        "StorageType=accounting_storage/mysql",
        "StorageHost=localhost",
        "StorageUser=root",
        "StorageLoc=slurm",
    ]
    return "\n".join(lines) + "\n"


def _tokens(place: Place) -> list[str]:
    """A token of `scontrol token` identifies its user: https://slurm.schedmd.com/jwt.html."""
    return ["AuthAltTypes=auth/jwt", f"AuthAltParameters=jwt_key={place.token_key}"]


def _nodes(groups: Sequence[NodeGroup], place: Place) -> list[str]:
    return [
        f"NodeName={name} NodeHostname={place.hostname} NodeAddr=127.0.0.1 Port={place.node_ports[name]}"
        f" CPUs={group.cpus} RealMemory={group.memory_mib}{_gres(group)} State=UNKNOWN"
        for group in groups
        for name in group.node_names
    ]


def _partitions(groups: Sequence[NodeGroup]) -> list[str]:
    """Pools may share a partition; the first one is the default."""
    by_name: dict[str, list[NodeGroup]] = {}
    for group in groups:
        by_name.setdefault(group.partition, []).append(group)
    lines = []
    for number, (name, members) in enumerate(by_name.items()):
        nodes = ",".join(node for member in members for node in member.node_names)
        limits = [member.max_time_min for member in members if member.max_time_min]
        words = [
            f"PartitionName={name}",
            f"Nodes={nodes}",
            f"Default={'NO' if number else 'YES'}",
            f"MaxTime={min(limits, default='UNLIMITED')}",
            f"OverSubscribe={'EXCLUSIVE' if any(member.exclusive for member in members) else 'NO'}",
            "State=UP",
        ]
        lines.append(" ".join(words))
    return lines


def _gres(group: NodeGroup) -> str:
    if not group.gpus:
        return ""
    return f" Gres=gpu:{group.gres}:{group.gpus}" if group.gres else f" Gres=gpu:{group.gpus}"


def _types(groups: Iterable[NodeGroup]) -> list[str]:
    return list(dict.fromkeys(group.gres for group in groups if group.gpus and group.gres))


def _range(count: int) -> str:
    return "0" if count == 1 else f"[0-{count - 1}]"
