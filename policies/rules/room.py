"""P-ROOM: all images that may lie on a node of a pool fit its disk together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fleet.machines import Machine
from images.size.estimate import Size, amount, disk_use, room
from images.size.origin import Origin
from messages.problems import listing
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.pod_images import PodImage, different_images, possible_pools

_SHOWN = 3


def check(workloads: Sequence[Workload], site: Site) -> Iterator[Finding]:
    """Every image of every workload that may land on the pool, shared layers once, against what the kubelet leaves.

    It warns: the kubelet makes room by throwing out images that no pod uses, and pulls them again.
    """
    there: dict[str, dict[str, PodImage]] = {pool: {} for pool in site.machines}
    for workload in workloads:
        images = [(image.key, image) for image in different_images(workload, site)]
        for pool in possible_pools(workload, site):
            there.setdefault(pool, {}).update(images)
    for pool, machine in site.machines.items():
        yield from _of_pool(pool, machine, list(there[pool].values()))


def _of_pool(pool: str, machine: Machine, images: Sequence[PodImage]) -> Iterator[Finding]:
    known = [(image.name, size) for image in images if (size := image.size) is not None]
    open_ones = [image.name for image in images if image.is_own and (not image.size or _is_bound(image.size))]
    unknown = [image.name for image in images if image.size is None]
    use = disk_use(size for _, size in known)
    least = "at least " if unknown or any(_is_bound(size) for _, size in known) else ""
    assumed = " (an assumption of the stack file)" if machine.is_disk_assumed else ""
    space = f"of {machine.disk_gib:g} GiB{assumed} the kubelet leaves {amount(room(machine.disk_gib))} for images"
    if use.total > room(machine.disk_gib):
        shared = f", what they share counted once ({amount(use.shared)} saved)" if use.shared else ""
        biggest = sorted(known, key=lambda each: (-_total(each[1]), each[0]))
        names = listing([f"{name} {amount(_total(size))}" for name, size in biggest], most=_SHOWN)
        more = f"; of {listing(unknown)} nothing is known" if unknown else ""
        together = f"{least}{amount(use.compressed)} packed and {amount(use.unpacked)} unpacked together{shared}"
        yield Finding(
            f"{len(known)} {'image' if len(known) == 1 else 'images'} that may be on one node:"
            f" {together}, and {space}: it removes images that no pod uses, and pulls them again."
            f" The biggest: {names}{more}",
            Level.WARN,
            subject=f"pool {pool}",
        )
    elif open_ones:
        yield Finding(
            f"its images have {least}{amount(use.total)} together, and {space}; what {listing(open_ones)}"
            " really has is read after the build",
            Level.UNPROVED,
            subject=f"pool {pool}",
        )


def _is_bound(size: Size) -> bool:
    return size.origin is Origin.SPEC


def _total(size: Size) -> int:
    return size.compressed + size.unpacked


RULE = Rule(
    id="P-ROOM",
    says="all images that may lie on a node of a pool fit its disk together, shared layers counted once",
    remedy="Let fewer images land on the pool, build them on one base, or shrink the biggest.",
    check_together=check,
)
