"""Reads a base image's facts from its reference: pinning, default user, CUDA."""

from __future__ import annotations

import re
from typing import Final

from imaging.references import ImageReference, known_image

# Images whose publishers set a default user other than root.
_NOT_ROOT: Final = re.compile(
    r"(^|/)(jupyter|ucsdets|ucsd-ets|jupyterhub|pangeo|mambaorg|rapidsai|bitnami|bitnamilegacy|cgr\.dev|chainguard"
    r"|nonroot|gitpod|condaforge/jupyterlab|2i2c|berkeley)(/|$)|-notebook$|singleuser"
)


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
        return str(image.cudas[-1].line)
    return "some" if image.own_build or reference.name.startswith(("nvcr.io/nvidia/", "pytorch/pytorch")) else ""
