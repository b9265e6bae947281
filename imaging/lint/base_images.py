"""The images that a recipe uses, and their facts by reference: pinning, default user, CUDA."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from imaging.lint.recipe import Recipe, Stage
from imaging.references import ImageReference, known_image
from imaging.spec.os_support import Release, release_in

# Images whose publishers set a default user other than root.
_NOT_ROOT: Final = re.compile(
    r"(^|/)(jupyter|ucsdets|ucsd-ets|jupyterhub|pangeo|mambaorg|rapidsai|bitnami|bitnamilegacy|cgr\.dev|chainguard"
    r"|nonroot|gitpod|condaforge/jupyterlab|2i2c|berkeley)(/|$)|-notebook$|singleuser"
)


def image_references(recipe: Recipe) -> Iterator[tuple[str, int]]:
    """Every registry image that the recipe builds on or copies from, with its line; no stages or open variables."""
    names = {stage.name.lower() for stage in recipe.stages if stage.name}
    for stage in recipe.stages:
        if stage.is_base_known:
            yield stage.base, stage.line
        for instruction in stage.instructions:
            sources = [(instruction.flags.get("from", ""), instruction.line)]
            sources += [(mount.get("from", ""), instruction.line) for mount in instruction.mounts]
            for text, line in sources:
                # A plain word may be a named build context; only text like a reference counts.
                if ("/" in text or ":" in text) and "$" not in text and text.lower() not in names:
                    yield text, line


def parse_reference(text: str) -> ImageReference | None:
    """The reference after a scheme such as docker://; None if no registry would accept it."""
    try:
        return ImageReference.parse(re.sub(r"^\w+://", "", text.strip()))
    except ValueError:
        return None


def is_cuda_base(reference: ImageReference) -> bool:
    """NVIDIA's CUDA images: their tags expire."""
    named = known_image(str(reference))
    return named is not None and named.repository == "nvidia/cuda"


def is_devel(reference: ImageReference) -> bool:
    """Does its tag mean CUDA compilers and headers?"""
    is_gpu = bool(re.search(r"cuda|nvidia|pytorch|tensorflow|rapids|cudnn", f"{reference.name}:{reference.tag}"))
    return is_gpu and bool(re.search(r"(^|[-_.])devel([-_.]|$)", reference.tag or ""))


def starts_as_root(reference: ImageReference) -> bool:
    """Docker's default, unless the publisher sets a known user."""
    return not (_NOT_ROOT.search(reference.name) or re.search(r"(^|-)nonroot(-|$)", reference.tag or ""))


def managing_release(stage: Stage, since: Mapping[str, float]) -> Release | None:
    """The release of a base that is a distribution's own image, or NVIDIA's on it, from these numbers on."""
    base = parse_reference(stage.base) if stage.is_base_known else None
    if base is None or not (is_cuda_base(base) or base.repository.rpartition("/")[2] in since):
        return None
    release = release_in(str(base))
    return release if release and float(release.number) >= since.get(release.system, 1e9) else None


def cuda_in(text: str) -> str:
    """CUDA line of the base's libraries, `some` if only its presence is known; empty if it has none.

    The `base` flavour of NVIDIA's images has only the runtime, which is tiny next to a framework's own.
    """
    reference = parse_reference(text)
    image = known_image(text)
    if reference is None or image is None or image.gpu_free:
        return ""
    if is_cuda_base(reference) and re.search(r"(^|-)base(-|$)", reference.tag or ""):
        return ""
    if image.cudas:
        lines = {each.line for each in image.cudas}
        return str(lines.pop() if len(lines) == 1 else image.cudas[-1].major)
    return "some" if image.own_build or reference.name.startswith(("nvcr.io/nvidia/", "pytorch/pytorch")) else ""
