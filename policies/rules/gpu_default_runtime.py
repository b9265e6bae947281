"""Detects CUDA images without a GPU request that a node's default runtime gives all GPUs. Pure."""

import re
from collections.abc import Iterator
from typing import Final

from errors.problems import listing
from fleet.labels import GPU_RESOURCE
from imaging.inspection.facts import ImageContents
from policies.finding import Finding, Level
from policies.model import Container, Site, Workload
from policies.scheduling import is_certain, possible_pools
from policies.visibility import VISIBLE_DEVICES, is_hiding
from policies.vocabulary import sentence
from policies.workload_images import ImageFacts, image_facts

# NVIDIA's own base, and its framework images on it, set NVIDIA_VISIBLE_DEVICES=all in every tag.
_SURELY: Final = re.compile(r"^(?:docker\.io/)?nvidia/cuda$|^nvcr\.io/nvidia/(?:cuda|pytorch|tensorflow|tritonserver)$")
_MAYBE: Final = re.compile(r"cuda|cu1[0-9]{2}|gpu|nvidia", re.IGNORECASE)


def shown_by_default(container: Container, workload: Workload, site: Site) -> Iterator[Finding]:
    """For a container without request, class, or a variable that hides GPUs."""
    if container.asks_for_gpus is not False or container.hides_gpus is not False:
        return
    image, called = image_facts(container.image, site), container.place
    variables = [each.name for each in container.env] if isinstance(container.env, tuple) else []
    is_legacy = "CUDA_VERSION" in variables and "NVIDIA_REQUIRE_CUDA" not in variables
    shows = True if is_legacy else _shows(image, site)
    is_unread = shows is False and image.contents is None and image.planned is None
    if shows is False and not is_unread:
        return
    with_gpus = {node.pool for node in site.nodes if node.amount(GPU_RESOURCE) != 0}
    pools = [pool for pool in possible_pools(workload, site) if pool in with_gpus]
    showing = [pool for pool in pools if site.default_runtimes.get(pool) == "nvidia"]
    unstated = [pool for pool in pools if pool not in site.default_runtimes]
    if showing and shows and is_certain(showing, workload, site):
        yield Finding(
            f"{called} asks for no GPU, but sees all GPUs of {_of(showing)}: the default runtime there is nvidia",
            remedy=f"{sentence(workload.words.requests)}, or set {VISIBLE_DEVICES} to void.",
        )
    elif showing or (unstated and not is_unread):
        why = f"its image {'is' if shows else 'is, or may be,'} of the CUDA family"
        why = "its image has not been read" if is_unread else why
        end = "" if showing else ", and default_runtime of the pool does not say which runtime gives containers GPUs"
        yield Finding(
            f"it is not known whether {called} sees all GPUs of {_of(showing or unstated)}: {why}{end}",
            Level.UNPROVED,
        )


def _of(pools: list[str]) -> str:
    return f"{'pool' if len(pools) == 1 else 'pools'} {listing(pools, most=4)}"


def _shows(image: ImageFacts, site: Site) -> bool | None:
    """Whether the runtime gives it GPUs without a request; None: maybe."""
    if image.contents is not None:
        return _is_shown_all(image.contents)
    if image.reference is not None and not image.is_own:
        if any(_SURELY.search(each) for each in (image.reference.name, image.reference.repository)):
            return True
        return None if _MAYBE.search(image.text or "") else False
    if image.planned is not None:
        return None if _MAYBE.search(image.planned.base) or _uses(image, site) else False
    return None if _uses(image, site) else False


def _uses(image: ImageFacts, site: Site) -> bool:
    """Whether a stack image uses a GPU, by its spec. Other images in its registry have no spec."""
    return image.is_own and image.name in site.own_images and bool(site.uses_of(image.name))


def _is_shown_all(contents: ImageContents) -> bool:
    """Whether the image's variables select GPUs: old ones set only CUDA_VERSION, which the runtime reads as all.

    Source: github:NVIDIA/nvidia-container-toolkit internal/config/image/cuda_image.go, IsLegacy.
    """
    env = dict(contents.settings.env)
    if VISIBLE_DEVICES in env:
        return not is_hiding(env[VISIBLE_DEVICES])
    return "CUDA_VERSION" in env and "NVIDIA_REQUIRE_CUDA" not in env
