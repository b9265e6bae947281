"""P-DISK: a node can pull and unpack each image that can land on it."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.size.estimate import amount, disk_use, room
from imaging.size.origin import Origin
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.pod_images import NOT_CERTAIN, different_images, is_certain, possible_pools


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Compares compressed plus unpacked bytes with the disk left by the kubelet, by pool."""
    images = [(image.name, size) for image in different_images(workload, site) if (size := image.size) is not None]
    if not images:
        return
    use = disk_use(size for _, size in images)
    least = "at least " if any(size.origin is Origin.SPEC for _, size in images) else ""
    machines = {pool: site.machines[pool] for pool in possible_pools(workload, site) if pool in site.machines}
    too_small = {pool: machine for pool, machine in machines.items() if use.total > room(machine.disk_gib)}
    words = workload.words
    level = Level.REFUSE if is_certain(too_small, workload, site) else Level.UNPROVED
    for pool, machine in too_small.items():
        names = ", ".join(name for name, _ in images)
        assumed = " (assumed by the stack file)" if machine.is_disk_assumed else ""
        nodes = [node.name for node in site.nodes if node.pool == pool]
        where = f"{nodes[0]} of pool {pool}" if len(nodes) == 1 else f"the {len(nodes)} {words.nodes} of pool {pool}"
        yield Finding(
            f"{names} cannot fit the disk of {where}: {least}{amount(use.compressed)} compressed plus"
            f" {amount(use.unpacked)} unpacked, but of {machine.disk_gib:g} GiB{assumed} {words.leaves}"
            f" {amount(room(machine.disk_gib))} for images{'' if level is Level.REFUSE else NOT_CERTAIN}",
            level,
        )


RULE = Rule(
    id="P-DISK",
    says="every image fits the disk of every node it can land on, compressed and unpacked, below the kubelet's limit",
    remedy="Make the image smaller, keep the workload off that pool, or correct root_disk_gib in the stack file.",
    check=check,
)
