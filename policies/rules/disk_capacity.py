"""P-ROOM: all images that can land on a pool's node fit its disk together."""

from collections.abc import Iterator, Sequence

from errors.problems import listing
from fleet.machines import Machine
from imaging.size.estimate import Origin, Size, amount, disk_use, room
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.rules.disk import space_for_images
from policies.scheduling import possible_pools
from policies.vocabulary import KUBERNETES, SLURM, Vocabulary
from policies.workload_images import ImageFacts, different_images

_SHOWN = 3


def check(workloads: Sequence[Workload], site: Site) -> Iterator[Finding]:
    """Compares all images that can land on the pool, shared layers once, with the disk left by the kubelet.

    Only warns: the kubelet makes room by deleting images without pods, and pulls them again.
    """
    there: dict[str, dict[str, ImageFacts]] = {pool: {} for pool in site.machines}
    words: dict[str, Vocabulary] = {}  # vocabulary of the workloads on a pool
    for workload in workloads:
        images = [(image.key, image) for image in different_images(workload, site)]
        for pool in possible_pools(workload, site):
            there.setdefault(pool, {}).update(images)
            words[pool] = workload.words
    for pool, machine in site.machines.items():
        yield from _of_pool(pool, machine, list(there[pool].values()), words.get(pool, KUBERNETES))


def _of_pool(pool: str, machine: Machine, images: Sequence[ImageFacts], words: Vocabulary) -> Iterator[Finding]:
    known = [(image.name, size) for image in images if (size := image.size) is not None]
    open_ones = [image.name for image in images if image.is_own and (not image.size or _is_bound(image.size))]
    unknown = [image.name for image in images if image.size is None]
    use = disk_use(size for _, size in known)
    least = "at least " if unknown or any(_is_bound(size) for _, size in known) else ""
    space = space_for_images(machine, words)
    if use.total > room(machine.disk_gib):
        shared = f", shared layers counted once ({amount(use.shared)} saved)" if use.shared else ""
        biggest = sorted(known, key=lambda each: (-_total(each[1]), each[0]))
        names = listing([f"{name} {amount(_total(size))}" for name, size in biggest], most=_SHOWN)
        more = f"; the sizes of {listing(unknown)} are not known" if unknown else ""
        together = f"{least}{amount(use.compressed)} compressed plus {amount(use.unpacked)} unpacked{shared}"
        yield Finding(
            f"{len(known)} {'image' if len(known) == 1 else 'images'} may be on one {words.node}:"
            f" {together}, but {space}: {_on_a_full_disk(words)}."
            f" The largest: {names}{more}",
            Level.WARN,
            subject=f"pool {pool}",
        )
    elif open_ones:
        yield Finding(
            f"its images need {least}{amount(use.total)} together, but {space};"
            f" the actual sizes of {listing(open_ones)} are read after the build",
            Level.UNPROVED,
            subject=f"pool {pool}",
        )


def _on_a_full_disk(words: Vocabulary) -> str:
    if words == KUBERNETES:
        return "it will remove unused images and pull them again"
    return f"{words.system if words == SLURM else 'the engine'} does not remove images by itself"


def _is_bound(size: Size) -> bool:
    return size.origin is Origin.SPEC


def _total(size: Size) -> int:
    return size.compressed + size.unpacked


RULE = Rule(
    id="P-ROOM",
    says="the images that can land on a node fit its disk (shared layers counted once)",
    remedy="Allow fewer images on the pool, build them on a common base, or shrink the largest.",
    check_together=check,
)
