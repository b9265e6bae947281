"""Starts the lab's Docker engine, and undoes its changes to the machine.

Containers end with the engine; images, volumes and networks stay in the instance's data.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from ipaddress import IPv4Network, ip_network
from typing import TYPE_CHECKING

from lab import clamped_runc, processes
from lab.instance import LabError
from lab.machine import leftovers, mounts, network, stand_in_gpus
from lab.servers import docker

if TYPE_CHECKING:
    from lab.instance import Instance
    from lab.machine.stand_in_gpus import StandInGpus
    from lab.servers import Tools

BRIDGE = re.compile(rb'"BridgeName":"([\w.-]+)"')
USE = "docker"  # selects stand-ins for GPUs
SHOWN_LIMITS = ("RLIMIT_MEMLOCK", "RLIMIT_NOFILE", "RLIMIT_STACK")


def start(
    instance: Instance,
    tools: Tools,
    report: Callable[[str], None] = lambda _: None,
    gpus: StandInGpus | None = None,
) -> None:
    """Start the engine, also after a crash; ready on return. Safe to repeat.

    Its containers see `gpus`, stand-ins for the host's.

    Raises LabError without root, and if the range of its networks is in use on this machine.
    """
    if os.geteuid() != 0:
        raise LabError("the lab's Docker engine needs root: containers, network devices and mounts; run it as root")
    if not processes.is_running(instance, docker.NAME):
        end(instance)  # leftovers of a killed one, containers first
        docker.clamp_log(instance).unlink(missing_ok=True)
        _check_range(instance)
    leftovers.record(instance, cgroup=docker.cgroup(instance), folders=leftovers.RUNTIME_STATE)
    stand_in_gpus.make(instance, tools, USE, gpus)
    processes.start(instance, docker.server(instance, tools, stand_in_gpus.cdi(instance, USE)))
    if clamped_runc.limits_are_hard():
        report(f"containers get no more than the hard limits of this machine: {hard_limits()}")


def hard_limits() -> str:
    """This machine's limits that GPU containers most often ask to raise: `memlock 8388608, …`."""
    values = {kind: clamped_runc.hard_limit(kind) for kind in SHOWN_LIMITS}
    return ", ".join(
        f"{kind.removeprefix('RLIMIT_').lower()} {'unlimited' if value == clamped_runc.UNLIMITED else value}"
        for kind, value in values.items()
    )


def lowered_limits(instance: Instance) -> list[str]:
    """Container limits that the engine has lowered since its start: `memlock unlimited lowered to 8388608`."""
    try:
        lines = docker.clamp_log(instance).read_text().splitlines()
    except FileNotFoundError:
        return []
    return sorted({line.partition(": ")[2] for line in lines})


def end(instance: Instance) -> None:
    """End the engine and its containers, and remove their mounts and network devices. Safe to repeat.

    `lab.machine.leftovers.remove` removes the rest once every other runtime of the lab has ended.
    """
    processes.stop(instance, docker.NAME, within_s=docker.SHUTDOWN_WITHIN_S + 20)
    leftovers.kill_shims(docker.containerd_socket(instance))
    leftovers.kill_cgroup(docker.cgroup(instance))
    mounts.unmount_below(docker.state(instance), docker.root(instance))
    shutil.rmtree(docker.state(instance), ignore_errors=True)
    stand_in_gpus.remove(instance, USE)
    for path in (docker.socket_path(instance), instance.run / "dockerd.pid"):
        path.unlink(missing_ok=True)
    for name in sorted(bridges(instance)):
        network.remove_link(name)


def bridges(instance: Instance) -> set[str]:
    """Network devices of the engine's networks, from its own database: they outlive a killed engine."""
    try:
        database = (docker.root(instance) / "network" / "files" / "local-kv.db").read_bytes()
    except FileNotFoundError:
        return set()
    return {name.decode() for name in BRIDGE.findall(database)}


def _check_range(instance: Instance) -> None:
    ours = IPv4Network(instance.networks.docker_cidr)
    used = ((ip_network(cidr, strict=False), where) for cidr, where in network.used_networks())
    if clashes := [
        f"{cidr} ({where})" for cidr, where in used if isinstance(cidr, IPv4Network) and cidr.overlaps(ours)
    ]:
        raise LabError(
            f"the range of the lab's Docker networks, {ours}, is in use on this machine: {'; '.join(clashes)}.\n"
            f'Leave that network, or set "slot" in {instance.home / "instance.json"} to another number from 0 to 17 '
            "(after `make clean`: addresses are part of its data)"
        )
