"""P-HOST: some pool of the fleet can host every workload."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from errors.problems import listing
from fleet.labels import ARCH, LINUX, OS
from fleet.quantities import QuantityError
from fleet.scheduling_blockers import wording
from fleet.unknown import UNKNOWN
from policies.finding import Finding, Level
from policies.model import Coverage, Rule, Site, Workload
from policies.pod_images import PodImage, different_images, is_certain, processor, system
from policies.pod_workloads import asks_somewhere

_READ: Final[Mapping[str, Callable[[PodImage], str]]] = {ARCH: processor, OS: system}


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Compares labels, taints and resources of fleet nodes with pod requests."""
    asks, words = asks_somewhere(workload.pod), workload.words
    if site.coverage is not Coverage.ALL and asks is False:
        return  # it may run on undescribed nodes
    if not site.nodes:
        if site.coverage is not Coverage.ALL:
            why = "the pack's configuration describes no fleet, and the stack declares no Node before it"
            yield Finding(f"it is not known which GPUs it lands on: {why}", Level.UNPROVED)
        return  # a stack without a fleet describes no nodes
    try:
        found = workload.landing(site)
    except QuantityError as error:  # the API server rejects it too
        yield Finding(f'no pool can host it ("{error.given}" {words.no_amount})', remedy=words.write_amounts)
        return
    if other := _system(workload):
        yield other
    if not found.possible:
        refused = sorted(found.refused.items())
        reasons = "; ".join(f"{pool}: {wording(first, words.obstacles)}" for pool, (first, *_) in refused)
        if site.coverage is Coverage.ALL or (site.coverage is Coverage.WITH_GPUS and asks):
            describe = f"If the {words.nodes} have these labels, add them to the pool in the pack's configuration."
            is_described = site.coverage is Coverage.WITH_GPUS
            yield Finding(f"no pool can host it ({reasons})", remedy=f"{words.fit} {describe}" if is_described else "")
        else:
            yield Finding(f"none of the described pools can host it ({reasons}); others may", Level.UNPROVED)
        return
    yield from _platforms(workload, site)
    if found.undecided:
        what = [
            words.place(each) if isinstance(each, str) else wording(each, words.obstacles) for each in found.undecided
        ]
        yield Finding(f"which pools can host it depends on {', '.join(dict.fromkeys(what))}", Level.UNPROVED)


def _system(workload: Workload) -> Finding | None:
    """The system in spec.os: all described nodes run Linux, and the scheduler ignores it."""
    os = workload.pod.get("os")
    name = os.get("name") if isinstance(os, Mapping) else os
    if name is UNKNOWN:
        return Finding("spec.os is not known yet: it may not be for Linux", Level.UNPROVED)
    if not isinstance(name, str) or name == LINUX:
        return None
    return Finding(
        f"spec.os.name is {name}, but the kubelet of a Linux node rejects such a pod",
        remedy="Leave spec.os out, or write linux.",
    )


def _platforms(workload: Workload, site: Site) -> Iterator[Finding]:
    """Images known to need another processor or system than the nodes'."""
    for image in different_images(workload, site):
        for label, read in _READ.items():
            if wanted := read(image):
                yield from _platform(image, label, wanted, workload, site)


def _platform(image: PodImage, label: str, wanted: str, workload: Workload, site: Site) -> Iterator[Finding]:
    default = LINUX if label == OS else wanted
    found = [(node.pool, node.labels.get(label, default)) for node in workload.landing(site).possible]
    if pools := list(dict.fromkeys(pool for pool, has in found if has != wanted)):
        has = ", ".join(sorted({has for _, has in found if has != wanted}))
        nodes = workload.words.nodes
        on = f"{'pool' if len(pools) == 1 else 'pools'} {listing(pools, most=4)}"
        yield Finding(
            f"{image.text} is built for {wanted}, but the {nodes} of {on} are {has}: it will not start there",
            Level.REFUSE if is_certain(pools, workload, site) else Level.UNPROVED,
            remedy=f"Use an image for {has}, or restrict the workload to {nodes} with {label}={wanted}.",
        )


RULE = Rule(
    id="P-HOST",
    says="every workload fits some pool of the fleet: labels, taints, GPUs, cores, memory, processor, system",
    remedy=lambda words: words.fit,
    check=check,
)
