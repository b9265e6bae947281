"""Consistency checks of a stack file's pools: nodes, GPUs, sums, node-specific drivers. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from typing import Any, Final

from compat.values.versions import DriverVersion, VersionError
from errors.problems import Fault, Loc, listing
from settings.claim_checks import check_claims
from settings.host_checks import check_hosts, is_host
from settings.instance_checks import check_instances, is_of_instances, outline_of
from settings.slurm_checks import check_slurm, is_partition, nodes_of
from workloads.agreements import doubles
from workloads.raw import Raw, expanded, is_count, items, mapping


@dataclass(frozen=True, slots=True)
class PoolOutline:
    """Values of one pool for the checks. None: missing or malformed."""

    loc: Loc
    name: str | None
    gpus_per_node: int | None
    listed: tuple[str, ...] | None  # before nodes_except
    excepted: tuple[str, ...] | None
    are_instances: bool = False

    @property
    def nodes(self) -> tuple[str, ...] | None:
        if self.listed is None or self.excepted is None:
            return None
        return tuple(name for name in self.listed if name not in self.excepted)


def outlines(raw: Raw) -> list[PoolOutline]:
    """The readable pools of the fleet."""
    return [_outline(loc, pool) for loc, pool in items(raw, "fleet", "pools")]


def _outline(loc: Loc, pool: Raw) -> PoolOutline:
    name = pool["name"] if isinstance(pool.get("name"), str) else None
    if is_of_instances(pool):
        return PoolOutline(loc, name, *outline_of(pool), excepted=(), are_instances=True)
    if is_partition(pool):
        return PoolOutline(loc, name, _per_node(pool), nodes_of(pool), excepted=())
    itself = [name] if is_host(pool) and name else None
    listed, excepted = expanded(itself or pool.get("nodes")), expanded(pool.get("nodes_except", []))
    return PoolOutline(loc, name, _per_node(pool), listed, excepted)


def _per_node(pool: Raw) -> int | None:
    per_node = pool.get("gpus_per_node", 0 if pool.get("gpu") is None else None)
    return per_node if is_count(per_node) and per_node >= 0 else None


def check_fleet(raw: Raw, pools: list[PoolOutline]) -> Iterator[Fault]:
    """Inconsistencies among the pools."""
    yield from doubles(raw, ("fleet", "pools"))
    owners: dict[str, PoolOutline] = {}
    for pool in pools:
        for node in pool.excepted or ():
            if pool.listed is not None and node not in pool.listed:
                fix = f"{_called(pool)} has {listing(pool.listed, most=12)}: correct nodes or nodes_except"
                yield Fault((*pool.loc, "nodes_except"), "is not among the nodes of its pool", fix, node)
        if pool.nodes is not None and not pool.nodes:
            yield Fault((*pool.loc, "nodes"), "leaves the pool without a node", "list at least one, or drop the pool")
        yield from _owned_once(pool, owners)
    written = list(zip(pools, items(raw, "fleet", "pools"), strict=True))
    for pool, (loc, each) in written:
        if not pool.are_instances:
            yield from _gpus_of_pool(loc, each)
    for pool, (_, each) in written:
        if not pool.are_instances:
            yield from _overrides(pool, each)
        yield from _taints(pool.loc, each)
    yield from check_instances(raw)
    yield from check_claims(raw)
    yield from check_hosts(raw)
    yield from check_slurm(raw)
    yield from _total(mapping(raw, "fleet").get("total_gpus"), pools)
    yield from _managed(mapping(raw, "fleet").get("managed_by"), raw.get("runtime"))
    if raw.get("runtime") is not None and pools and all(pool.gpus_per_node == 0 for pool in pools):
        yield Fault(("runtime",), "has no node to run on", "leave it out: no pool of the fleet has a gpu")


_WITH_GPUS: Final = {  # keys required with `gpu` and forbidden without
    "driver": 'NVIDIA driver on these nodes, quoted: "418.88"',
    "container_toolkit": 'NVIDIA container toolkit on these nodes, quoted: "1.17.8"',
}


def _gpus_of_pool(loc: Loc, pool: Raw) -> Iterator[Fault]:
    """A pool declares all GPU keys, or none."""
    gpu, per_node = pool.get("gpu"), pool.get("gpus_per_node")
    if gpu is not None:
        if per_node is None:
            yield Fault((*loc, "gpus_per_node"), "is missing", "add gpus_per_node: GPUs on each node of this pool")
        elif per_node == 0:
            fix = "write how many GPUs each node has; for nodes without GPUs leave gpu out as well"
            yield Fault((*loc, "gpus_per_node"), "is out of range: 1 or more is allowed with gpu", fix, per_node)
        for key, what in _WITH_GPUS.items():
            if pool.get(key) is None and not is_partition(pool):  # unknown there until somebody looks it up
                yield Fault((*loc, key), "is missing", f"add {key}: {what}")
    elif is_count(per_node) and per_node > 0:
        fix = 'add the model, such as gpu: "GeForce GTX 1080 Ti", or, for nodes without GPUs, remove gpus_per_node'
        yield Fault((*loc, "gpu"), "is missing", fix)
    else:
        for key in _WITH_GPUS:
            if pool.get(key) is not None:
                fix = f"add gpu and gpus_per_node, or leave {key} out: nodes without GPUs have none"
                yield Fault((*loc, key), "is given for a pool without gpu", fix, pool[key])


def _overrides(pool: PoolOutline, raw: Raw) -> Iterator[Fault]:
    """Node overrides: each node is in the pool, is named once, and does differ."""
    overrides = items(raw, "node_overrides", at=pool.loc)
    if overrides and raw.get("gpu") is None:
        fix = "leave it out: nodes without GPUs have neither driver nor container toolkit"
        yield Fault((*pool.loc, "node_overrides"), "is given for a pool without gpu", fix)
        return
    seen: set[str] = set()
    for loc, each in overrides:
        for node in expanded(each.get("nodes")) or ():
            if pool.nodes is not None and node not in pool.nodes:
                fix = f"{_called(pool)} has {listing(pool.nodes, most=12)}: correct it, or the nodes of the pool"
                yield Fault((*loc, "nodes"), "is not among the nodes of its pool", fix, node)
            elif node in seen:
                yield Fault((*loc, "nodes"), "is overridden twice", "state once what the node has", node)
            seen.add(node)
        given = [key for key in _WITH_GPUS if each.get(key) is not None]
        if not given:
            yield Fault(loc, "overrides nothing", "give the driver or the container_toolkit that these nodes have")
        elif same := [key for key in given if _same_version(each[key], raw.get(key))]:
            fix = f"write the {same[0]} that these nodes have, or leave it out"
            yield Fault((*loc, same[0]), f"is the {same[0]} of {_called(pool)}", fix, each[same[0]])
    if pool.nodes and seen >= set(pool.nodes):
        fix = "change the pool itself; an override is for some of its nodes"
        yield Fault((*pool.loc, "node_overrides"), f"overrides every node of {_called(pool)}", fix)


def _same_version(one: object, other: object) -> bool:
    """418.88.00 is 418.88."""
    try:
        return DriverVersion.parse(str(one)) == DriverVersion.parse(str(other))
    except VersionError:
        return one == other


def _owned_once(pool: PoolOutline, owners: dict[str, PoolOutline]) -> Iterator[Fault]:
    twice: dict[str, list[str]] = {}
    for node, times in Counter(pool.nodes or ()).items():
        owner = owners.setdefault(node, pool)
        if owner is not pool:
            twice.setdefault(f"belongs to {_called(owner)} and to {_called(pool)}", []).append(node)
        elif times > 1:
            twice.setdefault(f"is listed twice in {_called(pool)}", []).append(node)
    for reason, nodes in twice.items():
        fix = "a node belongs to exactly one pool: remove it from one of the two (nodes_except takes it out of a range)"
        yield Fault((*pool.loc, "nodes"), reason, fix, listing(nodes))


def _total(declared: object, pools: list[PoolOutline]) -> Iterator[Fault]:
    counts = [(pool, pool.nodes, pool.gpus_per_node) for pool in pools]
    known = [(pool, nodes, gpus) for pool, nodes, gpus in counts if nodes is not None and gpus is not None]
    with_gpus = [each for each in known if each[2]]
    total = sum(len(nodes) * gpus for _, nodes, gpus in known)
    if not is_count(declared) or declared == total or len(known) < len(pools) or not all(pool.nodes for pool in pools):
        return  # or a consequence of reported problems
    usual = Counter(chain.from_iterable([gpus] * len(nodes) for _, nodes, gpus in with_gpus)).most_common(1)
    odd = [
        f"{listing(nodes)} of pool {pool.name} {'has' if len(nodes) == 1 else 'each have'} {gpus}"
        for pool, nodes, gpus in with_gpus
        if usual and gpus != usual[0][0]
    ]
    reason = f"contradicts the pools, which have {total}, not {declared}" + (f": {'; '.join(odd)}" if odd else "")
    sums = ", ".join(f"{pool.name} {len(nodes)} nodes of {gpus}" for pool, nodes, gpus in known)
    fix = f"write total_gpus: {total}, or correct nodes or gpus_per_node of a pool ({sums or 'there is none'})"
    yield Fault(("fleet", "total_gpus"), reason, fix, declared)


def left_nodes(raw: Raw, deployed: Mapping[str, Any]) -> str:
    """`n24 left pool rtx2080ti`: nodes deployed in a pool and now in none; empty if none left."""
    there = {node for pool in outlines(raw) for node in pool.nodes or ()}
    gone = {
        name: [node for node in nodes if isinstance(node, str) and node not in there]
        for name, nodes in deployed.items()
        if isinstance(nodes, list | tuple)
    }
    return "; ".join(f"{listing(nodes)} left pool {name}" for name, nodes in gone.items() if nodes)


def _managed(manager: object, runtime: object) -> Iterator[Fault]:
    """A fleet's daemons have one owner, which removes them when destroyed, even if others need them."""
    if isinstance(manager, str) and manager and runtime is not None:
        fix = "leave the section runtime out, or fleet.managed_by if this stack manages the nodes"
        yield Fault(("runtime",), f"is set, but {manager} manages the fleet", fix)


def _taints(loc: Loc, pool: Raw) -> Iterator[Fault]:
    """Kubernetes allows one taint per key and effect."""
    seen: dict[tuple[str, str], int] = {}
    for where, taint in items(pool, "taints", at=loc):
        key, effect = taint.get("key"), taint.get("effect")
        if not isinstance(key, str) or not isinstance(effect, str):
            continue
        if (key, effect) in seen:
            reason = f"has the key and the effect of taints[{seen[key, effect]}]"
            yield Fault(where, reason, "keep one of the two: a node can have only one taint per key and effect")
        seen.setdefault((key, effect), int(where[-1]))


def _called(pool: PoolOutline) -> str:
    return f"pool {pool.name}" if pool.name is not None else f"pool number {pool.loc[-1]}"
