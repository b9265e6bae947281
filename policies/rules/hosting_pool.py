"""P-HOST: some pool of the fleet can host every workload."""

from __future__ import annotations

from collections.abc import Iterator

from policies.finding import Finding, Level
from policies.model import Coverage, Rule, Site, Workload
from policies.workloads import asks_somewhere

REMEDY = "Change the node selector, add the toleration, or ask for no more than one node has."
OR_DESCRIBE = "A label that nodes of a pool have belongs into its labels in the configuration of the pack."


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Labels, taints and resources of the fleet's nodes against what the pods ask for."""
    asks = asks_somewhere(workload.pod)
    if site.coverage is not Coverage.ALL and asks is False:
        return  # it may run on nodes that nobody described
    if not site.nodes:
        if site.coverage is not Coverage.ALL:
            why = "the configuration of the pack has no fleet, and no Node of the stack came before it"
            yield Finding(f"on which GPUs it lands is not known: {why}", Level.UNPROVED)
        return  # a stack without a fleet says nothing about nodes
    try:
        found = workload.landing(site)
    except ValueError as error:  # a quantity that is none: the text says which, and the API server refuses it too
        yield Finding(f"no pool can host it ({error})", remedy="Write every amount as Kubernetes does.")
        return
    if not found.possible:
        reasons = "; ".join(f"{pool}: {reason}" for pool, reason in sorted(found.refused.items()))
        if site.coverage is Coverage.ALL or (site.coverage is Coverage.WITH_GPUS and asks):
            is_described = site.coverage is Coverage.WITH_GPUS
            yield Finding(f"no pool can host it ({reasons})", remedy=f"{REMEDY} {OR_DESCRIBE}" if is_described else "")
        else:
            yield Finding(f"no pool that is described can host it ({reasons}); others may", Level.UNPROVED)
    elif found.undecided:
        yield Finding(f"which pools can host it depends on {', '.join(found.undecided)}", Level.UNPROVED)


RULE = Rule(
    id="P-HOST",
    says="some pool of the fleet can host every workload: labels, taints, GPUs, cores and memory",
    remedy=REMEDY,
    check=check,
)
