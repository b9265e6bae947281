"""Pools of a fleet: groups of identical nodes, their GPUs and drivers, and the pools open to a workload."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TypeVar

from packaging.version import Version

from compat import Case, Host, host_of, read_host
from compat.evidence.case import OpenField
from compat.facts.rows import GpuModel
from compat.values.versions import DriverVersion, parse_release
from errors.problems import listing
from fleet.labels import gfd_labels

Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class NodeGpus:
    """One node's GPUs, with driver and runtime."""

    model: GpuModel
    count: int
    driver: DriverVersion | None  # None: not checked, as for some Slurm partitions
    container_toolkit: str | None  # None: not known, as for some machine images
    runtime: str = "kubernetes"  # what starts images there: `host` of a case
    glibc: Version | None = None  # of the node's system, where it matters
    probe: str = ""  # command that finds the unknown facts

    @property
    def discovered_labels(self) -> dict[str, str]:
        """Labels that GPU feature discovery sets on the node."""
        return gfd_labels(self.model, self.count, self.driver) if self.driver else {}

    @property
    def host(self) -> Host:
        """The node as input of compat."""
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


def _probed(axis: OpenField, probe: str) -> OpenField:
    """Adds the command that settles it."""
    return replace(axis, missing=f"{axis.missing}, which {probe} prints")


def read_node(gpu: str, driver: str, container_toolkit: str = "", *, host: str = "kubernetes", glibc: str = "") -> Host:
    """A node as input of compat, from labels, recorded inputs or a person. Raises CaseError."""
    return read_host(Case(gpu=gpu, driver=driver, container_toolkit=container_toolkit, host=host, host_glibc=glibc))


@dataclass(frozen=True, slots=True)
class Variant:
    """Nodes of one pool with the same facts, under their name from `alike`."""

    name: str
    pool: str
    node_names: tuple[str, ...]
    gpus: NodeGpus | None  # None: nodes without GPUs


@dataclass(frozen=True, slots=True)
class PoolGpus:
    """Identical nodes as input of compat; `unread` says why they cannot be identified.

    Assumed: unchecked facts, by field of a case. Pool: the pool that they are part of; empty: the whole pool.
    """

    host: Host | None
    assumed: frozenset[str] = frozenset()
    pool: str = ""
    unread: str = ""


def alike(
    pool: str, own: Facts, nodes: Iterable[str], facts_of: Callable[[str], Facts]
) -> Iterator[tuple[str, tuple[str, ...], Facts]]:
    """Named groups of a pool's nodes with the same facts: first those with the pool's own facts (`own`).

    These have the pool's name; the others are parts, named after their nodes: `gtx1080ti (n07)`.
    """
    groups: dict[Facts, list[str]] = {own: []}
    for node in dict.fromkeys(nodes):
        groups.setdefault(facts_of(node), []).append(node)
    for facts, names in groups.items():
        yield pool if facts == own else f"{pool} ({listing(names, most=4)})", tuple(names), facts


@dataclass(frozen=True, slots=True)
class Room:
    """Resources of an empty node, or a workload's requests. None: unknown, or not requested."""

    gpus: int | None = None
    cpu: float | None = None
    memory_gib: float | None = None

    def holds(self, requested: Room) -> bool:
        """Whether the workload fits, as far as both are known."""
        pairs = (self.gpus, requested.gpus), (self.cpu, requested.cpu), (self.memory_gib, requested.memory_gib)
        return all(wants is None or has is None or wants <= has for has, wants in pairs)


def may_land(pool: str, room: Room, named: Collection[str], requested: Room) -> bool:
    """Whether a workload may land on a pool: one that it names, or, if it names none, any with room for it."""
    return (not named or pool in named) and room.holds(requested)
