"""P-HOST: some pool of the fleet can host every workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from fleet.labels import ARCH, LINUX, OS
from fleet.unknown import UNKNOWN
from messages.problems import listing
from policies.finding import Finding, Level
from policies.model import Coverage, Rule, Site, Workload
from policies.pod_images import PodImage, different_images, is_certain, processor, system
from policies.workloads import asks_somewhere

_READ: Final[Mapping[str, Callable[[PodImage], str]]] = {ARCH: processor, OS: system}
REMEDY = "Change the node selector, add the toleration, or request no more than one node has."
OR_DESCRIBE = "If the nodes have these labels, add them to the pool in the pack's configuration."


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Labels, taints and resources of the fleet's nodes against what the pods ask for."""
    asks = asks_somewhere(workload.pod)
    if site.coverage is not Coverage.ALL and asks is False:
        return  # it may run on nodes that nobody described
    if not site.nodes:
        if site.coverage is not Coverage.ALL:
            why = "the pack's configuration describes no fleet, and the stack declares no Node before it"
            yield Finding(f"it is not known which GPUs it lands on: {why}", Level.UNPROVED)
        return  # a stack without a fleet says nothing about nodes
    try:
        found = workload.landing(site)
    except ValueError as error:  # a quantity that is none: the text says which, and the API server refuses it too
        yield Finding(f"no pool can host it ({error})", remedy="Write every amount as a Kubernetes quantity.")
        return
    if said := _system(workload):
        yield said
    if not found.possible:
        reasons = "; ".join(f"{pool}: {first}" for pool, (first, *_) in sorted(found.refused.items()))
        if site.coverage is Coverage.ALL or (site.coverage is Coverage.WITH_GPUS and asks):
            is_described = site.coverage is Coverage.WITH_GPUS
            yield Finding(f"no pool can host it ({reasons})", remedy=f"{REMEDY} {OR_DESCRIBE}" if is_described else "")
        else:
            yield Finding(f"none of the described pools can host it ({reasons}); others may", Level.UNPROVED)
        return
    yield from _platforms(workload, site)
    if found.undecided:
        yield Finding(f"which pools can host it depends on {', '.join(found.undecided)}", Level.UNPROVED)


def _system(workload: Workload) -> Finding | None:
    """What it says it needs: all nodes that anybody describes have Linux, and the scheduler does not look."""
    said = workload.pod.get("os")
    name = said.get("name") if isinstance(said, Mapping) else said
    if name is UNKNOWN:
        return Finding("spec.os is not known yet: it may not be for Linux", Level.UNPROVED)
    if not isinstance(name, str) or name == LINUX:
        return None
    return Finding(
        f"spec.os.name is {name}, but the kubelet of a Linux node rejects such a pod",
        remedy="Leave spec.os out, or write linux.",
    )


def _platforms(workload: Workload, site: Site) -> Iterator[Finding]:
    """Images that are known to be for another processor or system than the nodes have."""
    for image in different_images(workload, site):
        for label, read in _READ.items():
            if wanted := read(image):
                yield from _platform(image, label, wanted, workload, site)


def _platform(image: PodImage, label: str, wanted: str, workload: Workload, site: Site) -> Iterator[Finding]:
    unsaid = LINUX if label == OS else wanted
    found = [(node.pool, node.labels.get(label, unsaid)) for node in workload.landing(site).possible]
    if pools := list(dict.fromkeys(pool for pool, has in found if has != wanted)):
        has = ", ".join(sorted({has for _, has in found if has != wanted}))
        on = f"{'pool' if len(pools) == 1 else 'pools'} {listing(pools, most=4)}"
        yield Finding(
            f"{image.text} is built for {wanted}, but the nodes of {on} are {has}: it will not start there",
            Level.REFUSE if is_certain(pools, workload, site) else Level.UNPROVED,
            remedy=f"Use an image for {has}, or restrict the workload to nodes with {label}={wanted}.",
        )


RULE = Rule(
    id="P-HOST",
    says="every workload fits some pool of the fleet: labels, taints, GPUs, cores, memory, processor, system",
    remedy=REMEDY,
    check=check,
)
