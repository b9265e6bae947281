"""P-DISK: a node can pull and unpack each image that can land on it."""

from collections.abc import Iterator

from fleet.machines import Machine
from imaging.size.estimate import Origin, amount, disk_use, room
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.scheduling import NOT_CERTAIN, is_certain, possible_pools
from policies.vocabulary import KUBERNETES, Vocabulary
from policies.workload_images import different_images


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Compares compressed plus unpacked bytes with the disk left by the kubelet, by pool."""
    images = [(image.name, size) for image in different_images(workload, site) if (size := image.size) is not None]
    if not images:
        return
    use = disk_use(size for _, size in images)
    least = "at least " if any(size.origin is Origin.SPEC for _, size in images) else ""
    machines = {pool: site.machines[pool] for pool in possible_pools(workload, site) if pool in site.machines}
    too_small = {pool: machine for pool, machine in machines.items() if use.total > room(machine.disk_gib)}
    level = Level.REFUSE if is_certain(too_small, workload, site) else Level.UNPROVED
    for pool, machine in too_small.items():
        names = ", ".join(name for name, _ in images)
        nodes = [node.name for node in site.nodes if node.pool == pool]
        where = (
            f"{nodes[0]} of pool {pool}"
            if len(nodes) == 1
            else f"the {len(nodes)} {workload.words.node}s of pool {pool}"
        )
        yield Finding(
            f"{names} cannot fit the disk of {where}: {least}{amount(use.compressed)} compressed plus"
            f" {amount(use.unpacked)} unpacked, but {space_for_images(machine, workload.words)}"
            f"{'' if level is Level.REFUSE else NOT_CERTAIN}",
            level,
        )


def space_for_images(machine: Machine, words: Vocabulary) -> str:
    """`of 20 GiB the kubelet leaves 18 GB for images`."""
    assumed = " (assumed by the stack file)" if machine.is_disk_assumed else ""
    leaves = "the kubelet leaves" if words == KUBERNETES else f"a {words.node} should leave"
    return f"of {machine.disk_gib:g} GiB{assumed} {leaves} {amount(room(machine.disk_gib))} for images"


RULE = Rule(
    id="P-DISK",
    says="every image fits the disk of every node it can land on, compressed and unpacked, below the kubelet's limit",
    remedy="Make the image smaller, keep the workload off that pool, or correct root_disk_gib in the stack file.",
    check=check,
)
