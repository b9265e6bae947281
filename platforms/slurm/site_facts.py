"""Facts reported by a Slurm cluster, and differences from the stack's pools. Pure."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from errors.problems import listing, nearest
from platforms.slurm.partition_model import PartitionKeys

_GRES: Final = re.compile(r"gpu(?::(?P<type>[A-Za-z][\w.-]*))?:(?P<count>\d+)")
# States without new jobs: https://slurm.schedmd.com/sinfo.html#SECTION_NODE-STATE-CODES.
_AWAY: Final = ("drain", "down", "fail", "maint", "error", "inval", "unk", "powering_down", "future")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """One node. `gpus`: number by type; untyped GPUs have the type ''."""

    name: str
    state: str
    gpus: Mapping[str, int] = field(default_factory=dict)
    reason: str = ""

    @property
    def is_away(self) -> bool:
        """Whether Slurm starts no jobs there."""
        return self.state.lower().startswith(_AWAY) or self.state.endswith(("*", "$"))


@dataclass(frozen=True, slots=True)
class PartitionFacts:
    """One partition. `max_time_min` None: no limit; `is_exclusive` None: unknown to the REST service."""

    name: str
    state: str
    is_exclusive: bool | None
    max_time_min: int | None
    nodes: tuple[NodeFacts, ...] = ()


@dataclass(frozen=True, slots=True)
class SiteFacts:
    """A cluster."""

    version: str  # 22.05.8
    partitions: Mapping[str, PartitionFacts]

    def rows(self) -> Iterator[tuple[str, str]]:
        """Rows for people: label and value."""
        yield "Slurm", self.version
        for each in self.partitions.values():
            yield f"partition {each.name}", ", ".join(_words(each))


@dataclass(frozen=True, slots=True)
class DeclaredPool:
    """A pool of the stack."""

    name: str
    keys: PartitionKeys
    nodes: int
    gpus_per_node: int


def gpus_of(gres: str) -> dict[str, int]:
    """`gpu:k80:4(S:0-1),gpu:2` → {'k80': 4, '': 2}, as in sinfo and scontrol."""
    found: dict[str, int] = {}
    for each in _GRES.finditer(gres):
        found[each["type"] or ""] = found.get(each["type"] or "", 0) + int(each["count"])
    return found


def minutes(text: str) -> int | None:
    """`2-00:00:00`, `48:00:00`, `30:00`, as in scontrol; None: no limit."""
    days, dash, clock = text.rpartition("-")
    parts = clock.split(":")
    if not all(part.isdigit() for part in parts) or (dash and not days.isdigit()):
        return None
    hours, minute, second = ([0] * (3 - len(parts)) + [*map(int, parts)])[:3]
    return int(days or 0) * 1440 + hours * 60 + minute + (second > 0)


def refusals(facts: SiteFacts, pools: Iterable[DeclaredPool]) -> Iterator[str]:
    """Pools that do not match the cluster, so nothing would start, and what to write instead."""
    for pool in pools:
        found = facts.partitions.get(pool.keys.partition)
        if found is None:
            advice = nearest(pool.keys.partition, facts.partitions, what="partition")
            yield f"pool {pool.name}: Slurm has no partition {pool.keys.partition}; {advice}"
            continue
        yield from (f"pool {pool.name}: {each}" for each in _of_partition(found, pool))


def remarks(facts: SiteFacts, pools: Iterable[DeclaredPool]) -> Iterator[str]:
    """Notes for the operator that refuse nothing: nodes currently away."""
    for pool in pools:
        found = facts.partitions.get(pool.keys.partition)
        away = [each for each in _with(found, pool.keys.gres) if each.is_away] if found else []
        if away:
            reasons = listing([*dict.fromkeys(each.reason for each in away if each.reason)])
            names = listing([each.name for each in away])
            yield f"pool {pool.name}: {names} {_are(away)} away ({away[0].state}{f': {reasons}' if reasons else ''})"


def _of_partition(found: PartitionFacts, pool: DeclaredPool) -> Iterator[str]:
    keys = pool.keys
    types = sorted({kind for node in found.nodes for kind in node.gpus if kind})
    if keys.gres and keys.gres not in types:
        advice = nearest(keys.gres, types, what="type") if types else "its GPUs have no type: leave out gres"
        yield f"partition {found.name} has no GPUs of type {keys.gres}; {advice}"
        return
    nodes = _with(found, keys.gres)
    most = max((_gpus(each, keys.gres) for each in nodes), default=0)
    if pool.gpus_per_node > most:
        yield f"a node of partition {found.name} has {most} GPUs: write gpus_per_node: {most}"
    if pool.nodes > len(nodes):
        yield f"partition {found.name} has {len(nodes)} such nodes: write nodes: {len(nodes)}"
    if keys.max_time_min and found.max_time_min is not None and keys.max_time_min > found.max_time_min:
        most_min = found.max_time_min
        yield f"partition {found.name} ends a job after {most_min} min: write max_time_min: {most_min}"
    if found.is_exclusive and not keys.exclusive and pool.gpus_per_node:
        yield f"partition {found.name} gives whole nodes, with all their GPUs: write exclusive: true"
    if found.state.upper() != "UP":
        yield f"partition {found.name} is {found.state}: nothing starts there until its administrators open it"
    elif nodes and all(each.is_away for each in nodes):
        reasons = listing(
            [*dict.fromkeys(f"{each.name} {each.state}: {each.reason or 'no reason given'}" for each in nodes)]
        )
        yield f"no node of partition {found.name} takes jobs ({reasons}); ask its administrators"


def _with(found: PartitionFacts, gres: str | None) -> Sequence[NodeFacts]:
    return [each for each in found.nodes if not gres or gres in each.gpus]


def _gpus(node: NodeFacts, gres: str | None) -> int:
    return node.gpus.get(gres, 0) if gres else sum(node.gpus.values())


def _are(nodes: Sequence[NodeFacts]) -> str:
    return "is" if len(nodes) == 1 else "are"


def _words(partition: PartitionFacts) -> Iterator[str]:
    yield f"{len(partition.nodes)} nodes"
    kinds: dict[str, int] = {}
    for node in partition.nodes:
        for kind, count in node.gpus.items():
            kinds[kind] = kinds.get(kind, 0) + count
    yield from (f"{count} GPUs{f' {kind}' if kind else ''}" for kind, count in sorted(kinds.items()))
    if partition.is_exclusive:
        yield "whole nodes"
    yield "no limit of time" if partition.max_time_min is None else f"at most {partition.max_time_min} min"
