"""Pools of a fleet: which of their nodes are alike, what drives their GPUs, and which pools a workload may land on."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from packaging.version import Version

from compat import Case, Host, host_of, read_host
from compat.evidence.case import Axis
from compat.facts.rows import GpuModel
from compat.values.versions import DriverVersion, parse_release
from errors.problems import listing
from fleet.labels import gfd_labels

Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class NodeGpus:
    """The GPUs of one node, and what drives them."""

    model: GpuModel
    count: int
    driver: DriverVersion | None  # None: nobody has looked, as of some partitions of Slurm
    container_toolkit: str | None  # None: not known, as for some machine images
    runtime: str = "kubernetes"  # what starts images there: `host` of a case
    glibc: Version | None = None  # of the node's system, where it counts
    probe: str = ""  # what brings the facts that are not known

    @property
    def discovered_labels(self) -> dict[str, str]:
        """Labels that GPU feature discovery sets on the node."""
        return gfd_labels(self.model, self.count, self.driver) if self.driver else {}

    @property
    def host(self) -> Host:
        """The node as compat takes it."""
        host = host_of(
            self.model,
            self.driver,
            container_toolkit=parse_release(toolkit) if (toolkit := self.container_toolkit) else None,
            host=self.runtime,
            glibc=self.glibc,
        )
        if self.probe:
            host = replace(host, open=tuple(_probed(axis, self.probe) for axis in host.open))
        return replace(host, shown=replace(host.shown, container_toolkit=self.container_toolkit or ""))


def _probed(axis: Axis, probe: str) -> Axis:
    """With the command that settles it."""
    return replace(axis, missing=f"{axis.missing}, which {probe} prints")


def read_node(gpu: str, driver: str, container_toolkit: str = "", *, host: str = "kubernetes", glibc: str = "") -> Host:
    """A node as compat takes it, from what labels, recorded inputs or a person say. Raises CaseError."""
    return read_host(Case(gpu=gpu, driver=driver, container_toolkit=container_toolkit, host=host, host_glibc=glibc))


@dataclass(frozen=True, slots=True)
class Variant:
    """Nodes of one pool that are alike in every fact, by the name that `alike` gives them."""

    name: str
    pool: str
    node_names: tuple[str, ...]
    gpus: NodeGpus | None  # None: nodes without GPUs


@dataclass(frozen=True, slots=True)
class PoolGpus:
    """Nodes alike as compat takes them; `unread` says why, where nobody can tell what they are.

    Assumed: what of it nobody has looked at, by field of a case. Pool: of which they are a part; empty: they are it.
    """

    host: Host | None
    assumed: frozenset[str] = frozenset()
    pool: str = ""
    unread: str = ""


def alike(
    pool: str, own: Facts, nodes: Iterable[str], facts_of: Callable[[str], Facts]
) -> Iterator[tuple[str, tuple[str, ...], Facts]]:
    """Nodes of a pool that have the same facts, with a name: first those that have what the pool says (`own`).

    Their name is the pool's; the others are a part of it, called after their nodes: `gtx1080ti (n07)`.
    """
    groups: dict[Facts, list[str]] = {own: []}
    for node in dict.fromkeys(nodes):
        groups.setdefault(facts_of(node), []).append(node)
    for facts, names in groups.items():
        yield pool if facts == own else f"{pool} ({listing(names, most=4)})", tuple(names), facts


@dataclass(frozen=True, slots=True)
class Room:
    """What an empty node has, or what a workload asks for. None: not known, or not requested."""

    gpus: int | None = None
    cpu: float | None = None
    memory_gib: float | None = None

    def holds(self, requested: Room) -> bool:
        """Whether the workload fits, as far as both are known."""
        pairs = (self.gpus, requested.gpus), (self.cpu, requested.cpu), (self.memory_gib, requested.memory_gib)
        return all(wants is None or has is None or wants <= has for has, wants in pairs)


def may_land(pool: str, room: Room, named: Collection[str], requested: Room) -> bool:
    """Whether a workload may land on a pool: on one that it names, or, where it names none, on any with room for it."""
    return (not named or pool in named) and room.holds(requested)
