"""The lab's Slurm on this machine: a controller, its accounting, and a daemon for each node of the stack's partitions.

Jobs end with it; images, ended jobs, accounts and the queue stay in the instance's data.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from lab import files, processes
from lab.instance import LabError, port_is_free
from lab.machine import machine_account, sif_runtime, slurm_accounting, traces
from lab.machine.slurm_accounting import Qos
from lab.machine.stand_in_gpus import device_names
from lab.machine.traces import Kind, Trace
from lab.servers import (
    mariadb,
    munge,
    slurm_config,
    slurm_files,
    slurmctld,
    slurmd,
    slurmdbd,
    slurmrestd,
    sshd,
)
from lab.servers.slurm_config import NodeGroup, Place

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.servers import Tools

NODE_PORTS: Final = range(16818, 31818)  # below the kernel's ephemeral ports
PORTS_APART: Final = 60  # labs that start at the same time search for free ports in different places
NODES_WITHIN_S: Final = 60
LOGINS_WITHIN_S: Final = 3
ACCOUNT: Final = "lab"  # for jobs that name no account
FRONT: Final = (sshd.NAME, slurmrestd.NAME, slurmrestd.BY_TOKEN)
BACK: Final = (slurmctld.NAME, slurmdbd.NAME, mariadb.NAME, munge.NAME)
NAMES: Final = frozenset({*FRONT, *BACK})


@dataclass(frozen=True, slots=True)
class Cluster:
    """The parts of a Slurm."""

    groups: Sequence[NodeGroup]
    accounts: Sequence[str] = (ACCOUNT,)
    qos: Sequence[Qos] = ()
    driver: str | None = None  # the version that a stand-in on all nodes reports
    people: Sequence[str] = ()  # users of hubs, by their login names
    has_images: bool = True  # whether its nodes start images, which requires SingularityCE


def start(instance: Instance, tools: Tools, cluster: Cluster, report: Callable[[str], None] = lambda _: None) -> None:
    """Start what does not run, also after a crash; all nodes are up on return. Safe to repeat.

    Raises LabError without root, and if a server or a node does not come up.
    """
    if os.geteuid() != 0:
        raise LabError(
            "the lab's Slurm needs root: it runs jobs as another user, and creates that user; run it as root"
        )
    user = _folders(instance)
    people = _people(instance, cluster.people)
    ports = _node_ports(instance, cluster.groups)
    _end_nodes(instance, keep=ports)
    _configure(instance, cluster.groups, ports)
    if cluster.has_images:
        sif_runtime.install(instance, tools, cluster.driver)
    processes.start(instance, munge.server(instance, tools))
    mariadb.prepare(instance, tools)
    processes.start(instance, mariadb.server(instance, tools))
    processes.start(instance, slurmdbd.server(instance, tools))
    slurm_accounting.ensure_cluster(instance, tools)
    processes.start(instance, slurmctld.server(instance, tools))
    for each in (user, *people):
        slurm_accounting.ensure(instance, tools, cluster.accounts, cluster.qos, each)
    report(f"Slurm: {len(ports)} nodes …")
    for group in cluster.groups:
        for node in group.node_names:
            processes.start(instance, slurmd.server(instance, tools, node, ports[node], device_names(group.gpus)))
    _wait_for_nodes(instance, tools)
    processes.start(instance, slurmrestd.server(instance, tools))
    _keep_runtime(instance)
    processes.start(instance, sshd.server(instance, tools, sif_runtime.search_path(instance), people))


def end(instance: Instance) -> None:
    """End all servers, jobs and logins, and remove the account. Safe to repeat."""
    for name in FRONT:
        processes.stop(instance, name)
    machine_account.end_all_processes(instance)
    _end_nodes(instance)
    for name in BACK:
        processes.stop(instance, name, within_s=30)
    machine_account.remove(instance)
    _release_runtime(instance)


def forget(instance: Instance) -> None:
    """Remove what outlives `end` outside the instance's folder. Safe to repeat."""
    traces.undo(instance, {Kind.PUBLIC_FOLDER: lambda trace: _remove_public(Path(trace.value))})


def states(instance: Instance, tools: Tools) -> dict[str, str]:
    """Nodes with their states in Slurm's words, such as `idle`; a trailing `*` means no answer."""
    argv = [str(tools.path("sinfo")), "--noheader", "--Node", "--format=%N %T"]
    lines = processes.run(argv, env=slurm_files.environment(instance), timeout_s=60).splitlines()
    return dict(sorted((name, state) for name, state in (line.split() for line in lines)))


def _folders(instance: Instance) -> str:
    """The account, and the folders that nodes and users share; returns its name."""
    root = slurm_files.root(instance)
    traces.record(instance, Trace(Kind.PUBLIC_FOLDER, str(root)))
    open_to_all = (
        root,
        slurm_files.config(instance).parent,
        slurm_files.munge_socket(instance).parent,
        slurm_files.spool(instance),
        slurm_files.new_dev(instance),
    )
    for folder in (slurm_files.SHARED, *open_to_all):
        folder.mkdir(parents=True, exist_ok=True)
        folder.chmod(0o755)
    for folder in (slurm_files.database_socket(instance).parent, instance.data / "slurm" / "controller"):
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    name = slurm_files.account(instance)
    account = machine_account.ensure(instance, name, slurm_files.home(instance))
    for folder in (slurm_files.home(instance), slurm_files.rest_socket(instance).parent):
        machine_account.give(account, folder, mode=0o700)
    for folder in (slurm_files.image_store(instance), slurm_files.scratch(instance)):
        machine_account.give(account, folder, mode=0o755)
    return name


def _people(instance: Instance, users: Sequence[str]) -> list[str]:
    """Create an account for hubs and one for each of their users; return the latter. None without a hub."""
    names = [slurm_files.person_account(instance, user) for user in users]
    for name in (slurm_files.hub_account(instance), *names) if names else ():
        home = slurm_files.home_of(instance, name)
        home.parent.mkdir(exist_ok=True, mode=0o755)
        machine_account.give(machine_account.ensure(instance, name, home), home, mode=0o700)
    return names


def _configure(instance: Instance, groups: Sequence[NodeGroup], ports: dict[str, int]) -> None:
    place = Place(
        hostname=slurm_files.short_hostname(),
        munge_socket=slurm_files.munge_socket(instance),
        state=instance.data / "slurm" / "controller",
        spool=slurm_files.spool(instance),
        run=instance.run,
        controller_port=instance.ports[slurmctld.NAME],
        accounting_port=instance.ports[slurmdbd.NAME],
        node_ports=ports,
        token_key=_token_key(instance),
    )
    config = slurm_files.config(instance)
    files.write(config, slurm_config.slurm_conf(groups, place))
    files.write(config.with_name("gres.conf"), slurm_config.gres_conf(groups))
    files.write(config.with_name("slurmdbd.conf"), slurm_config.slurmdbd_conf(place), mode=0o600)


def _token_key(instance: Instance) -> Path:
    """Signs tokens; made once, for root only."""
    path = instance.data / "slurm" / "controller" / "jwt_hs256.key"
    if not path.exists():
        files.write(path, secrets.token_hex(32), mode=0o600)
    return path


def _node_ports(instance: Instance, groups: Sequence[NodeGroup]) -> dict[str, int]:
    """A port for each node: that of its running daemon, else the last one if free, else another."""
    record = instance.data / "slurm" / "node-ports.json"
    before: dict[str, int] = json.loads(record.read_text()) if record.exists() else {}
    names = [name for group in groups for name in group.node_names]
    kept = {
        name: before[name]
        for name in names
        if name in before and (processes.is_running(instance, slurmd.name(name)) or port_is_free(before[name]))
    }
    first = int(slurm_files.digest(instance), 16) % (len(NODE_PORTS) // PORTS_APART) * PORTS_APART
    candidates = (
        port for port in (*NODE_PORTS[first:], *NODE_PORTS[:first]) if port not in kept.values() and port_is_free(port)
    )
    ports = {name: kept[name] if name in kept else next(candidates) for name in names}
    files.write(record, json.dumps(ports) + "\n")
    return ports


def _wait_for_nodes(instance: Instance, tools: Tools) -> None:
    deadline = time.monotonic() + NODES_WITHIN_S
    while away := {name: state for name, state in states(instance, tools).items() if _is_away(state)}:
        if time.monotonic() > deadline:
            reasons = ", ".join(f"{name} is {state}" for name, state in away.items())
            raise LabError(f"not all nodes came up within {NODES_WITHIN_S} s: {reasons}")
        time.sleep(0.2)


def _is_away(state: str) -> bool:
    return state.endswith("*") or state.startswith(("down", "unknown"))


def _end_nodes(instance: Instance, keep: dict[str, int] | None = None) -> None:
    """End the nodes' daemons and their jobs, except on nodes to keep."""
    kept = {slurmd.name(node) for node in keep or ()}
    for record in processes.records(instance):
        if record.name.startswith(slurmd.PREFIX) and record.name not in kept:
            processes.stop(instance, record.name)
    if keep is None:
        _end_steps(slurm_files.spool(instance))


def _end_steps(spool: Path) -> None:
    """The parents of jobs, which outlive their nodes' daemons: each listens at a socket in its node's folder."""
    found = []
    for process in psutil.process_iter(["name"]):
        with contextlib.suppress(psutil.Error):
            if str(process.info["name"]).startswith("slurmstepd") and any(
                str(each.laddr).startswith(f"{spool}/") for each in process.net_connections("unix")
            ):
                process.kill()
                found.append(process)
    psutil.wait_procs(found, timeout=10)


def _keep_runtime(instance: Instance) -> None:
    if not sshd.RUNTIME.exists():
        traces.record(instance, Trace(Kind.LOGIN_FOLDER, str(sshd.RUNTIME)))
    sshd.RUNTIME.mkdir(exist_ok=True, mode=0o755)


def _release_runtime(instance: Instance) -> None:
    """Removed when no sshd of this machine is left that would chroot into it; recorded until then.

    The parent of a login ends a moment after the login's processes.
    """
    deadline = time.monotonic() + LOGINS_WITHIN_S
    while any(process.info["name"] == sshd.NAME for process in psutil.process_iter(["name"])):
        if time.monotonic() > deadline:
            return
        time.sleep(0.1)
    with contextlib.suppress(OSError):
        traces.undo(instance, {Kind.LOGIN_FOLDER: lambda trace: Path(trace.value).rmdir()})


def _remove_public(root: Path) -> None:
    shutil.rmtree(root, ignore_errors=True)
    with contextlib.suppress(OSError):  # another lab of this machine has a process in it
        root.parent.rmdir()
