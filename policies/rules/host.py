"""P-HOST: some pool of the fleet can host every workload."""

from collections.abc import Callable, Iterator, Mapping
from typing import Final

from errors.problems import listing
from fleet.labels import ARCH, LINUX, OS
from fleet.quantities import QuantityError
from fleet.scheduling_blockers import wording
from fleet.unknown import UNKNOWN
from policies.finding import Finding, Level
from policies.model import Coverage, Rule, Site, Workload
from policies.scheduling import is_certain, landing
from policies.vocabulary import Vocabulary, sentence
from policies.workload_images import ImageFacts, different_images, processor, system

_READ: Final[Mapping[str, Callable[[ImageFacts], str]]] = {ARCH: processor, OS: system}


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Compares labels, taints and resources of fleet nodes with pod requests."""
    asks, words = workload.asks_for_gpus, workload.words
    if site.coverage is not Coverage.ALL and asks is False:
        return  # it may run on undescribed nodes
    if not site.nodes:
        if site.coverage is not Coverage.ALL:
            why = "the pack's configuration describes no fleet, and the stack declares no Node before it"
            yield Finding(f"it is not known which GPUs it lands on: {why}", Level.UNPROVED)
        return  # a stack without a fleet describes no nodes
    try:
        found = landing(workload, site)
    except QuantityError as error:  # the API server rejects it too
        yield Finding(f'no pool can host it ("{error.given}" is not {words.amount})', remedy=f"Write {words.amounts}.")
        return
    if other := _system(workload):
        yield other
    if not found.possible:
        refused = sorted(found.refused.items())
        reasons = "; ".join(f"{pool}: {wording(first, words.blockers)}" for pool, (first, *_) in refused)
        if site.coverage is Coverage.ALL or (site.coverage is Coverage.WITH_GPUS and asks):
            describe = f"If the {words.node}s have these labels, add them to the pool in the pack's configuration."
            is_described = site.coverage is Coverage.WITH_GPUS
            yield Finding(
                f"no pool can host it ({reasons})", remedy=f"{_fit(words)} {describe}" if is_described else ""
            )
        else:
            yield Finding(f"none of the described pools can host it ({reasons}); others may", Level.UNPROVED)
        return
    yield from _platforms(workload, site)
    if found.undecided:
        what = [each if isinstance(each, str) else wording(each, words.blockers) for each in found.undecided]
        yield Finding(f"which pools can host it depends on {', '.join(what)}", Level.UNPROVED)


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


def _platform(image: ImageFacts, label: str, wanted: str, workload: Workload, site: Site) -> Iterator[Finding]:
    default = LINUX if label == OS else wanted
    found = [(node.pool, node.labels.get(label, default)) for node in landing(workload, site).possible]
    if pools := list(dict.fromkeys(pool for pool, has in found if has != wanted)):
        has = ", ".join(sorted({has for _, has in found if has != wanted}))
        nodes = f"{workload.words.node}s"
        on = f"{'pool' if len(pools) == 1 else 'pools'} {listing(pools, most=4)}"
        yield Finding(
            f"{image.text} is built for {wanted}, but the {nodes} of {on} are {has}: it will not start there",
            Level.REFUSE if is_certain(pools, workload, site) else Level.UNPROVED,
            remedy=f"Use an image for {has}, or restrict the workload to {nodes} with {label}={wanted}.",
        )


def _fit(words: Vocabulary) -> str:
    return f"{sentence(words.moves)}, or request no more than one {words.node} has."


RULE = Rule(
    id="P-HOST",
    says="every workload fits some pool of the fleet: labels, taints, GPUs, cores, memory, processor, system",
    remedy=_fit,
    check=check,
)
