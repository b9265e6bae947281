"""Images of the CUDA family that ask for no GPU, where the default runtime of a node gives them all. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from components.labels import GPU_RESOURCE
from components.problems import listing
from images.inspection.facts import ImageContents
from policies.finding import Finding, Level
from policies.model import Site, Workload
from policies.pod_images import PodImage, is_certain, possible_pools

VISIBLE: Final = "NVIDIA_VISIBLE_DEVICES"
HIDING: Final = {"", "void", "none"}
# NVIDIA's own base, and its framework images on it, say NVIDIA_VISIBLE_DEVICES=all in every tag.
_SURELY: Final = re.compile(r"^(?:docker\.io/)?nvidia/cuda$|^nvcr\.io/nvidia/(?:cuda|pytorch|tensorflow|tritonserver)$")
_MAYBE: Final = re.compile(r"cuda|cu1[0-9]{2}|gpu|nvidia", re.IGNORECASE)


def shown_by_default(path: str, image: PodImage, workload: Workload, site: Site) -> Iterator[Finding]:
    """Of a container without a request, a class, or a variable that hides GPUs."""
    shows = _shows(image, site)
    if shows is False:
        return
    with_gpus = {node.pool for node in site.nodes if node.amount(GPU_RESOURCE) != 0}
    pools = [pool for pool in possible_pools(workload, site) if pool in with_gpus]
    given = [pool for pool in pools if site.default_runtimes.get(pool) == "nvidia"]
    unsaid = [pool for pool in pools if pool not in site.default_runtimes]
    if given and shows and is_certain(given, workload, site):
        yield Finding(
            f"{path} asks for no GPU, and its image sees all of {_of(given)}: the default runtime there is nvidia",
            remedy=f"Ask for a GPU, or set {VISIBLE} to void.",
        )
    elif given or unsaid:
        why = f"its image is of the CUDA family{'' if shows else ', or may be'}"
        end = "" if given else ", and default_runtime of the pool does not say which runtime gives containers GPUs"
        yield Finding(f"whether {path} sees all GPUs of {_of(given or unsaid)}: {why}{end}", Level.UNPROVED)


def _of(pools: list[str]) -> str:
    return f"{'pool' if len(pools) == 1 else 'pools'} {listing(pools, most=4)}"


def _shows(image: PodImage, site: Site) -> bool | None:
    """Whether the runtime would show it GPUs without being asked; None: it may be."""
    if image.contents is not None:
        return _says(image.contents)
    if image.reference is not None and not image.is_own:
        if any(_SURELY.search(each) for each in (image.reference.name, image.reference.repository)):
            return True
        return None if _MAYBE.search(image.text or "") else False
    if image.planned is not None:
        return None if _MAYBE.search(image.planned.base) or site.uses_of(image.name) else False
    return None if image.is_own and site.uses_of(image.name) else False


def _says(contents: ImageContents) -> bool:
    """Old images of the family have CUDA_VERSION alone, and the runtime takes that for all GPUs.

    Source: github:NVIDIA/nvidia-container-toolkit internal/config/image/cuda_image.go, IsLegacy.
    """
    env = dict(contents.settings.env)
    if VISIBLE in env:
        return env[VISIBLE].strip().lower() not in HIDING
    return "CUDA_VERSION" in env and "NVIDIA_REQUIRE_CUDA" not in env
