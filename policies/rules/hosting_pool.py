"""P-HOST: some pool of the fleet can host every workload."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from components.placement import UNKNOWN, landing
from components.problems import listing
from policies.finding import Finding, Level
from policies.model import Coverage, Rule, Site, Workload
from policies.pod_images import different_images, is_certain, processor
from policies.visibility import NVIDIA_CLASSES
from policies.workloads import asks_somewhere

_PROCESSOR = "kubernetes.io/arch"
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
    if (system := _system(workload)) is not None:
        yield Finding(
            f"spec.os.name is {system}, and the kubelet of a node with Linux refuses such a pod",
            remedy="Leave spec.os out, or write linux.",
        )
    if not found.possible and _may_tolerate(workload, site):
        name = workload.pod["runtimeClassName"]
        why = f"which tolerations the runtime class {name} adds is not known: it is not of this stack"
        yield Finding(f"{why}; without them no pool can host it", Level.UNPROVED)
        return
    if not found.possible:
        reasons = "; ".join(f"{pool}: {reason}" for pool, reason in sorted(found.refused.items()))
        if site.coverage is Coverage.ALL or (site.coverage is Coverage.WITH_GPUS and asks):
            is_described = site.coverage is Coverage.WITH_GPUS
            yield Finding(f"no pool can host it ({reasons})", remedy=f"{REMEDY} {OR_DESCRIBE}" if is_described else "")
        else:
            yield Finding(f"no pool that is described can host it ({reasons}); others may", Level.UNPROVED)
        return
    yield from _processors(workload, site)
    if found.undecided:
        yield Finding(f"which pools can host it depends on {', '.join(found.undecided)}", Level.UNPROVED)


def _system(workload: Workload) -> str | None:
    """What it says it needs, where that is no Linux."""
    said = workload.pod.get("os")
    name = said.get("name") if isinstance(said, Mapping) else None
    return name if isinstance(name, str) and name != "linux" else None


def _may_tolerate(workload: Workload, site: Site) -> bool:
    """Whether tolerations of a runtime class that nobody here has seen may bring it to a node."""
    name = workload.pod.get("runtimeClassName")
    if not isinstance(name, str) or name in site.runtime_classes or name in NVIDIA_CLASSES or workload.is_daemon:
        return False
    return bool(landing({**workload.pod, "tolerations": UNKNOWN}, site.nodes).possible)


def _processors(workload: Workload, site: Site) -> Iterator[Finding]:
    """Images that are known to be for another processor than the nodes have."""
    for image in different_images(workload, site):
        if not (wanted := processor(image)):
            continue
        nodes = [node for node in workload.landing(site).possible if node.labels.get(_PROCESSOR, wanted) != wanted]
        if pools := list(dict.fromkeys(node.pool for node in nodes)):
            has = ", ".join(sorted({node.labels[_PROCESSOR] for node in nodes}))
            on = f"{'pool' if len(pools) == 1 else 'pools'} {listing(pools, most=4)}"
            yield Finding(
                f"{image.text} is for {wanted}, and nodes of {on} have {has}: it does not start there",
                Level.REFUSE if is_certain(pools, workload, site) else Level.UNPROVED,
                remedy=f"Take the image for {has}, or keep it to nodes with {_PROCESSOR}={wanted}.",
            )


RULE = Rule(
    id="P-HOST",
    says="some pool of the fleet can host every workload: labels, taints, GPUs, cores, memory, processor",
    remedy=REMEDY,
    check=check,
)
