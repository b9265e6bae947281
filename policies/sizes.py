"""Images of a workload, and what is known of their size. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.placement import landing
from images.estimate import Size
from policies.findings import Site, Workload


@dataclass(frozen=True, slots=True)
class Sized:
    """One image of a workload by digest. `size` is None where its facts were not read."""

    reference: str
    name: str
    size: Size | None


def images_by_digest(workload: Workload, site: Site) -> Iterator[Sized]:
    """Each image once. Images that are not known yet or have no digest are the business of P-PIN."""
    seen = set()
    for kind in ("initContainers", "containers"):
        containers = workload.pod.get(kind)
        for container in containers if isinstance(containers, Sequence) and not isinstance(containers, str) else ():
            image = container.get("image") if hasattr(container, "get") else None
            if isinstance(image, str) and "@sha256:" in image and image not in seen:
                seen.add(image)
                yield Sized(image, image.partition("@")[0].rpartition("/")[2].partition(":")[0], site.size_of(image))


def is_own(image: Sized, site: Site) -> bool:
    """True for an image that this stack pushes."""
    return bool(site.own_registry) and image.reference.startswith(f"{site.own_registry}/")


def possible_pools(workload: Workload, site: Site) -> list[str]:
    """Pools that could host the workload, in the order of the fleet."""
    return list(dict.fromkeys(node.pool for node in landing(workload.pod, site.nodes).possible))
