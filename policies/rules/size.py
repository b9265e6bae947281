"""P-SIZE: no image is larger than the site allows."""

from collections.abc import Iterator

from imaging.size.estimate import GIB, Origin, Size, amount
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.scheduling import possible_pools
from policies.vocabulary import DOCKER, Vocabulary
from policies.workload_images import ImageFacts, at_least, different_images


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Compares compressed bytes with the limits, unpacked bytes with a share of the smallest possible disk.

    Before the build, the spec gives a lower bound: above a limit it decides, below it proves nothing.
    """
    for image in different_images(workload, site):
        if (size := image.size) is not None:
            found = [*_compressed(image, size, site), *_unpacked(image, size, workload, site)]
            yield from found
            if size.origin is Origin.SPEC and not any(finding.level is Level.REFUSE for finding in found):
                least = f"{image.name} is at least {amount(size.compressed)} compressed according to its spec"
                later = "its actual size, read after the build, decides P-SIZE, P-DISK and P-START"
                yield Finding(f"{least}; {later}", Level.UNPROVED)
        elif image.is_own:
            why = "its facts were not read" if image.reference else "this update builds it, and its spec gives no size"
            yield Finding(f"the size of {image.name} is not known: {why}", Level.UNPROVED, is_own=True)


def _compressed(image: ImageFacts, size: Size, site: Site) -> Iterator[Finding]:
    limits, waiver = site.limits, site.limits.waivers.get(image.name) if image.is_own else None
    by_spec = " according to its spec" if size.origin is Origin.SPEC else ""
    message = f"{image.name} is {at_least(size)}{amount(size.compressed)} compressed{by_spec}"
    if waiver is not None and site.today <= waiver.until:
        if size.compressed > waiver.compressed:
            own = f"its own limit of {amount(waiver.compressed)} (valid until {waiver.until})"
            yield Finding(f"{message}, over even {own}")
        elif size.compressed > limits.refuse_compressed:
            why = f"until {waiver.until}: {waiver.reason}"
            yield Finding(f"{message}, over the limit of {amount(limits.refuse_compressed)}; allowed {why}", Level.WARN)
        return
    ended = f"; its own limit of {amount(waiver.compressed)} expired on {waiver.until}" if waiver else ""
    if size.compressed > limits.refuse_compressed:
        yield Finding(f"{message}: the limit is {amount(limits.refuse_compressed)}{ended}")
    elif size.compressed > limits.warn_compressed:
        yield Finding(f"{message}; images above {amount(limits.warn_compressed)} are slow to pull", Level.WARN)


def _unpacked(image: ImageFacts, size: Size, workload: Workload, site: Site) -> Iterator[Finding]:
    share = site.limits.unpacked_disk_share
    for pool in possible_pools(workload, site):
        machine = site.machines.get(pool)
        if machine is None or size.unpacked <= machine.disk_gib * GIB * share:
            continue
        assumed = " (assumed by the stack file)" if machine.is_disk_assumed else ""
        yield Finding(
            f"{image.name} is {at_least(size)}{amount(size.unpacked)} unpacked: more than {share:.0%} of the"
            f" {machine.disk_gib:g} GiB disk{assumed} of {_a_node_of(pool, workload.words)}",
            Level.WARN,
        )


def _a_node_of(pool: str, words: Vocabulary) -> str:
    """A pool of Docker is one host."""
    return f"the host {pool}" if words.system == DOCKER.system else f"a {words.node} of pool {pool}"


RULE = Rule(
    id="P-SIZE",
    says="no image is larger than the site allows: compressed, and unpacked as a share of a node's disk",
    remedy="Make the image smaller (gpu-commons inspect --deep shows what is large), or give it a limit of its own in "
    "images[].limit with a reason and an end date.",
    check=check,
)
