"""P-SIZE: no image is bigger than the site allows."""

from __future__ import annotations

from collections.abc import Iterator

from images.estimate import GIB, Size, amount
from policies.findings import Finding, Level, Rule, Site, Workload
from policies.pod_images import PodImage, different_images, possible_pools


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Compressed bytes against the limits, unpacked bytes against a share of the smallest disk it may land on."""
    for image in different_images(workload, site):
        if (size := image.size) is not None:
            yield from _compressed(image, size, site)
            yield from _unpacked(image, size, workload, site)
        elif image.is_own and image.reference is not None:
            yield Finding(f"the size of {image.name} is not known: its facts were not read", Level.UNPROVED)


def _compressed(image: PodImage, size: Size, site: Site) -> Iterator[Finding]:
    limits, waiver = site.limits, site.limits.waivers.get(image.name)
    said = f"{image.name} has {amount(size.compressed)} compressed"
    if waiver is not None and site.today <= waiver.until:
        if size.compressed > waiver.compressed:
            yield Finding(f"{said}: even its own limit is {amount(waiver.compressed)} (until {waiver.until})")
        elif size.compressed > limits.refuse_compressed:
            why = f"until {waiver.until}, because: {waiver.reason}"
            yield Finding(f"{said}, above the limit of {amount(limits.refuse_compressed)}: allowed {why}", Level.WARN)
        return
    ended = f"; its own limit of {amount(waiver.compressed)} ended on {waiver.until}" if waiver else ""
    if size.compressed > limits.refuse_compressed:
        yield Finding(f"{said}: the limit is {amount(limits.refuse_compressed)}{ended}")
    elif size.compressed > limits.warn_compressed:
        yield Finding(f"{said}: above {amount(limits.warn_compressed)} pulls are slow", Level.WARN)


def _unpacked(image: PodImage, size: Size, workload: Workload, site: Site) -> Iterator[Finding]:
    share = site.limits.unpacked_disk_share
    for pool in possible_pools(workload, site):
        machine = site.machines.get(pool)
        if machine is None or size.unpacked <= machine.disk_gib * GIB * share:
            continue
        assumed = ", which the stack file assumes" if machine.is_disk_assumed else ""
        yield Finding(
            f"{image.name} has {amount(size.unpacked)} unpacked: more than {share:.0%} of the {machine.disk_gib:g} GiB"
            f" disk of a node of {pool}{assumed}",
            Level.WARN,
        )


RULE = Rule(
    id="P-SIZE",
    says="no image is bigger than the site allows: compressed, and unpacked beside what else a node holds",
    remedy="Make the image smaller (gpu-commons inspect --deep shows what is big), or give it a limit of its own in "
    "images[].limit with a reason and an end.",
    check=check,
)
