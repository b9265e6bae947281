"""Checks across the pools of a fleet: nodes, sums. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from errors.agreements import doubles, given, located, of_each, readable
from errors.problems import Fault, Loc, listing
from settings.pool import MachinePool, Pool
from settings.pools import Fleet


def located_pools(fleet: Fleet | None) -> list[tuple[Loc, Pool]]:
    """The readable pools."""
    return [*located(fleet, "pools", ("fleet",))]


def gpus_each(pool: Pool) -> int | None:
    """GPUs of each node; None if they cannot be read."""
    try:
        is_known = not isinstance(pool, MachinePool) or given(pool, "gpus_per_node") or pool.gpu is None
        gpus = pool.gpus_per_node if is_known else None
    except (AttributeError, ValueError):
        return None
    return gpus


def check_fleet(fleet: Fleet) -> Iterator[Fault]:
    """Disagreements among the pools."""
    yield from readable(doubles(getattr(fleet, "pools", ()), ("fleet", "pools")))
    yield from of_each(located_pools(fleet), partial(_owned_once, {}))
    yield from readable(_total(fleet))


def _owned_once(owners: dict[str, Pool], loc: Loc, pool: Pool) -> Iterator[Fault]:
    twice: dict[str, list[str]] = {}
    for node, times in Counter(pool.node_names).items():
        owner = owners.setdefault(node, pool)
        if owner is not pool:
            twice.setdefault(f"belongs to pool {owner.name} and to pool {pool.name}", []).append(node)
        elif times > 1:
            twice.setdefault(f"is listed twice in pool {pool.name}", []).append(node)
    for reason, nodes in twice.items():
        fix = "a node belongs to exactly one pool: remove it from one of the two (nodes_except takes it out of a range)"
        yield Fault((*loc, "nodes"), reason, fix, listing(nodes))


def _total(fleet: Fleet) -> Iterator[Fault]:
    known = [(pool.name, pool.node_names, gpus_each(pool)) for pool in fleet.pools]
    total, declared = sum(len(nodes) * (gpus or 0) for _, nodes, gpus in known), fleet.total_gpus
    if declared == total or any(gpus is None or not nodes for _, nodes, gpus in known):
        return  # or a consequence of reported problems
    usual = Counter(gpus for _, nodes, gpus in known for _ in nodes if gpus).most_common(1)
    odd = [
        f"{listing(nodes)} of pool {name} {'has' if len(nodes) == 1 else 'each have'} {gpus}"
        for name, nodes, gpus in known
        if gpus and gpus != usual[0][0]
    ]
    reason = f"contradicts the pools, which have {total}, not {declared}" + (f": {'; '.join(odd)}" if odd else "")
    sums = ", ".join(f"{name} {len(nodes)} nodes of {gpus}" for name, nodes, gpus in known)
    fix = f"write total_gpus: {total}, or correct nodes or gpus_per_node of a pool ({sums or 'there is none'})"
    yield Fault(("fleet", "total_gpus"), reason, fix, declared)


def left_nodes(fleet: Fleet | None, deployed: Mapping[str, Any]) -> str:
    """`n24 left pool rtx2080ti`: nodes deployed in a pool and now in none; empty if none left."""
    there = {node for _, pool in located_pools(fleet) for node in pool.node_names}
    gone = {
        name: [node for node in nodes if isinstance(node, str) and node not in there]
        for name, nodes in deployed.items()
        if isinstance(nodes, list | tuple)
    }
    return "; ".join(f"{listing(nodes)} left pool {name}" for name, nodes in gone.items() if nodes)
