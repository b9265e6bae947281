"""One lab on this machine: its name decides its folder, ports and address ranges."""

from __future__ import annotations

import json
import os
import re
import socket
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Self

import psutil

from lab import files

# Every server of the lab that listens on a TCP port, with its port in the first instance.
# A second instance, or a machine where one is taken, gets the next free one; the choice is permanent,
# because the registry's port is part of every image reference in the stack's state.
PREFERRED_PORTS = {
    "registry": 5000,
    "etcd": 2379,
    "etcd_peer": 2380,
    "apiserver": 6443,
    "controller_manager": 10257,
    "scheduler": 10259,
    "kubelet": 10250,
    "kubelet_health": 10248,
    "kube_proxy_health": 10256,
    "kube_proxy_metrics": 10249,
    "kwok": 10247,
    "coredns_health": 10246,
    "aws": 4566,
    "slurmctld": 6817,
    "slurmdbd": 6819,
    "sshd": 2222,
}


RECORD = "instance.json"
# What a `make` means that names neither INSTANCE nor STACK.
DEFAULT = "default"
DEFAULT_STACK = "dsmlp-fall"
NAME = r"[a-z0-9][a-z0-9-]{0,29}"  # a folder's name, short enough for the paths of sockets below it
SLOTS = 18  # three ranges each, from 10.200.0.0/16 on, and one from 10.100.0.0/16 on


class LabError(Exception):
    """A fault the user can act on: printed as it is, without a traceback."""


@dataclass(frozen=True, slots=True)
class Networks:
    """Addresses of one instance. None is reachable from other machines (see `lab.machine.network`)."""

    node_address: str  # the real node and the servers that pods must reach
    pod_cidr: str
    service_cidr: str
    bridge: str
    simulated_pod_cidr: str  # made-up addresses of simulated pods, behind a blackhole route
    docker_cidr: str  # networks for containers of the lab's Docker engine, a /24 each

    @classmethod
    def of_slot(cls, slot: int) -> Self:
        return cls(
            node_address=f"10.89.{slot}.1",
            pod_cidr=f"10.{200 + 3 * slot}.0.0/16",
            service_cidr=f"10.{201 + 3 * slot}.0.0/16",
            simulated_pod_cidr=f"10.{202 + 3 * slot}.0.0/16",
            docker_cidr=f"10.{100 + slot}.0.0/16",
            bridge=f"gpuc{slot}",
        )

    @property
    def first_service_address(self) -> str:
        return self.service_cidr.rsplit(".", 1)[0] + ".1"


@dataclass(frozen=True, slots=True)
class Instance:
    """Folder, ports and addresses of one lab. Created by `open_instance`, later read back."""

    name: str
    slot: int
    home: Path
    ports: dict[str, int]
    lender: Path | None = None  # home of a lab whose registry and BuildKit this one uses instead of starting its own

    def make(self, goal: str, stack: str = DEFAULT_STACK) -> str:
        """A command for this lab, as people type it: `make up STACK=dcsg INSTANCE=two`."""
        named = (("STACK", stack, DEFAULT_STACK), ("INSTANCE", self.name, DEFAULT))
        return " ".join([f"make {goal}", *(f"{key}={value}" for key, value, default in named if value != default)])

    @property
    def images(self) -> Path:
        """Home of the lab whose registry, builder and base images are used: this one, or a lender."""
        return self.lender or self.home

    @property
    def networks(self) -> Networks:
        return Networks.of_slot(self.slot)

    @property
    def run(self) -> Path:
        """PID records and sockets: worth nothing after a reboot."""
        return self.home / "run"

    @property
    def logs(self) -> Path:
        return self.home / "logs"

    @property
    def config(self) -> Path:
        """Files written for servers and clients: certificates, kubeconfig, site.yaml."""
        return self.home / "config"

    @property
    def data(self) -> Path:
        """etcd, registry, builder cache and Pulumi state: only useful together."""
        return self.home / "data"

    @property
    def kubeconfig(self) -> Path:
        return self.config / "kubeconfig"

    @property
    def registry_address(self) -> str:
        return f"127.0.0.1:{self.ports['registry']}"

    @property
    def apiserver_url(self) -> str:
        """On the node address, not 127.0.0.1: pods of the real node must reach the same listener."""
        return f"https://{self.networks.node_address}:{self.ports['apiserver']}"


def state_home() -> Path:
    base = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    return base / "gpu-commons"


def cache_home() -> Path:
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "gpu-commons"


def find_instance(name: str) -> Instance:
    """The instance of that name. Raises LabError if there is none: looking creates no folder and takes no port."""
    if not (_home(name) / RECORD).exists():
        known = sorted(path.parent.name for path in state_home().glob(f"*/{RECORD}"))
        there = f"there are: {', '.join(known)}" if known else "there is no other"
        raise LabError(f'there is no lab "{name}" in {state_home()}: `up` creates it; {there}')
    return open_instance(name)


def open_instance(name: str = DEFAULT) -> Instance:
    """The instance of that name; creates a new one (folders, ports, a free slot). Raises LabError for a bad name."""
    home = _home(name)
    record = home / RECORD
    if not record.exists():
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        taken = {each.slot for each in _every_instance()}
        slot = next(
            candidate
            for candidate in range(SLOTS)
            if candidate not in taken and not is_in_use(Networks.of_slot(candidate))
        )
        instance = Instance(name, slot, home, _free_ports(_reserved_ports(), PREFERRED_PORTS))
        _keep(instance)
    instance = _read(home)
    if set(PREFERRED_PORTS) - set(instance.ports):  # created by a lab with fewer servers
        instance.ports.update(_free_ports(_reserved_ports(), set(PREFERRED_PORTS) - set(instance.ports)))
        _keep(instance)
    for folder in (instance.run, instance.logs, instance.config, instance.data):
        folder.mkdir(exist_ok=True, mode=0o700)
    return instance


def stored_instance(home: Path) -> Instance | None:
    """The instance in that folder, of any clone and user. None if the folder has none."""
    return _read(home) if (home / RECORD).exists() else None


def _keep(instance: Instance) -> None:
    paths = {"home": str(instance.home), "lender": str(instance.lender) if instance.lender else None}
    files.write(instance.home / RECORD, json.dumps({**asdict(instance), **paths}, indent=2) + "\n")


def _read(home: Path) -> Instance:
    """The instance in that folder. Raises LabError for a damaged record."""
    record = home / RECORD
    try:
        stored = json.loads(record.read_text())
        name, slot, ports, lender = stored["name"], stored["slot"], stored["ports"], stored.get("lender")
        return Instance(name, slot, home, ports, Path(lender) if lender else None)
    except (ValueError, KeyError, TypeError) as error:
        raise LabError(
            f"{record} is damaged ({error}): it holds the ports of a lab; "
            f"restore it, or remove {home} and with it all that this lab keeps"
        ) from error


def _every_instance() -> list[Instance]:
    return [_read(record.parent) for record in state_home().glob(f"*/{RECORD}")]


def _home(name: str) -> Path:
    """`clean` removes this folder, so a name must not lead out of the folder of all instances."""
    if not re.fullmatch(NAME, name):
        raise LabError(f'"{name}" is not a name for a lab: write up to 30 of a-z, 0-9 and -, a letter or digit first')
    return state_home() / name


def forget_instance(instance: Instance) -> None:
    """Remove the instance's folder: cluster, registry, state and volumes. Its servers must have ended."""
    files.remove_tree(instance.home)


def check_ports(instance: Instance, names: Iterable[str]) -> None:
    """Raise LabError with the ports that others took since the instance was created."""
    taken = [name for name in names if not port_is_free(instance.ports[name])]
    if taken:
        raise LabError(
            "\n".join(
                f"port {instance.ports[name]} of the lab's {name} is taken: stop whatever listens there "
                f"(ss -ltnp 'sport = :{instance.ports[name]}'), or use another instance"
                for name in taken
            )
        )


def _reserved_ports() -> set[int]:
    return {port for each in _every_instance() for port in each.ports.values()}


def _free_ports(reserved: set[int], names: Iterable[str]) -> dict[str, int]:
    ports: dict[str, int] = {}
    for name in names:
        port = preferred = PREFERRED_PORTS[name]
        while port in reserved or not port_is_free(port):
            port += 1
            if port > preferred + 2000:
                raise LabError(f"no free port for {name} between {preferred} and {port}: stop whatever listens there")
        reserved.add(port)
        ports[name] = port
    return ports


def is_in_use(networks: Networks) -> bool:
    """Whether this machine has an address of the slot: a lab in another state folder does."""
    ours = (ip_network(networks.node_address), ip_network(networks.docker_cidr))
    return any(
        ip_address(each.address) in network
        for addresses in psutil.net_if_addrs().values()
        for each in addresses
        if each.family == socket.AF_INET
        for network in ours
    )


def port_is_free(port: int, address: str = "127.0.0.1") -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True
