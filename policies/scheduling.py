"""Where a workload may land: by the Kubernetes scheduler's rules, or on the nodes of the pools that it names. Pure."""

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Final

from fleet import scheduling
from fleet.labels import POOL
from fleet.nodes import Node
from fleet.quantities import QuantityError, quantity
from fleet.scheduling import Landing
from fleet.scheduling_blockers import LabelMismatch, OtherBlocker, SchedulingBlocker, Undescribed
from fleet.unknown import UNKNOWN, Unknown
from policies.model import Placement, Site, Workload

# Suffix of messages about pools that an unknown value may exclude.
NOT_CERTAIN: Final = "; whether it lands there depends on what is not known yet"


def landing(workload: Workload, site: Site) -> Landing:
    """Its possible nodes. The site caches them: most rules need them, and most workloads land alike.

    Raises QuantityError if an amount is no quantity.
    """
    runtime_class = site.runtime_classes.get(workload.runtime) if isinstance(workload.runtime, str) else None
    key = f"{workload.daemon is not None} {runtime_class} {workload.landing_key}"
    nodes, found = site.landings.get(key, ((), None))
    if found is None or nodes is not site.nodes:
        found = landing_on(site.nodes, workload, site)
        site.landings[key] = site.nodes, found
    return found


def landing_on(nodes: Sequence[Node], workload: Workload, site: Site) -> Landing:
    """The same, on these nodes alone."""
    if workload.placement is not None:
        return _placed(workload.placement, nodes)
    is_daemon = workload.daemon is not None
    return scheduling.landing(workload.pod, nodes, runtime_classes=site.runtime_classes, is_daemon=is_daemon)


def _placed(placement: Placement, nodes: Sequence[Node]) -> Landing:
    """Outside Kubernetes only the pool and the amounts decide: there are no taints."""
    amounts = {name: quantity(amount) for name, amount in placement.amounts.items()}
    unknown = {placement.places[name] for name, amount in amounts.items() if amount is UNKNOWN}

    def blockers(node: Node) -> Iterator[SchedulingBlocker]:
        has, pools = node.label(POOL), placement.pools
        if pools is not None and not isinstance(has, Unknown) and has not in pools:
            yield OtherBlocker(placement.other_pool) if placement.other_pool else LabelMismatch(POOL, pools[0], has)
        yield from scheduling.resource_blockers(amounts, node)

    def doubts(node: Node) -> Iterator[Undescribed]:
        if placement.pools is not None and node.label(POOL) is UNKNOWN:
            yield Undescribed(f"label {POOL}")
        yield from scheduling.resource_doubts(amounts, node)

    return scheduling.landing_by(nodes, blockers, doubts, {*unknown, *placement.unknown})


def possible_pools(workload: Workload, site: Site) -> list[str]:
    """Pools that could host the workload, in fleet order.

    None if an amount is no quantity: P-HOST reports that, and the API server rejects the pod.
    """
    return _possible(workload, site, lambda node: node.pool)


def possible_nodes(workload: Workload, site: Site) -> list[str]:
    """The same by groups of alike nodes within a pool."""
    return _possible(workload, site, lambda node: node.alike)


def _possible(workload: Workload, site: Site, of: Callable[[Node], str]) -> list[str]:
    try:
        return list(dict.fromkeys(map(of, landing(workload, site).possible)))
    except QuantityError:
        return []


def is_certain(bad: Collection[str], workload: Workload, site: Site) -> bool:
    """True if the workload may land on one of `bad` for certain: no unknown can exclude it, or nothing else is left.

    `bad` are pools, or groups of alike nodes.
    """
    if not bad:
        return False
    found = landing(workload, site)
    if any(node.pool in bad or node.alike in bad for node in found.certain):
        return True
    return set(bad) in ({node.pool for node in found.possible}, {node.alike for node in found.possible})
