"""What a base image's reference tells a rule: is it pinned, whose user, what CUDA is in it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from components.compat.images import ImageName, read_image
from components.compat.versions import VersionError

_DIGEST: Final = re.compile(r"@sha256:[0-9a-f]{64}$")
# Images that do not run as root unless told to: their publishers set another user.
_NOT_ROOT: Final = re.compile(
    r"(^|/)(jupyter|ucsdets|ucsd-ets|jupyterhub|pangeo|mambaorg|rapidsai|bitnami|bitnamilegacy|cgr\.dev|chainguard"
    r"|nonroot|gitpod|condaforge/jupyterlab|2i2c|berkeley)(/|$)|-notebook$|singleuser"
)


@dataclass(frozen=True, slots=True)
class Reference:
    """`repository[:tag][@digest]` as a Dockerfile or a definition file writes it; variables may be in it."""

    repository: str
    tag: str
    digest: str

    @property
    def is_by_digest(self) -> bool:
        return bool(self.digest)

    @property
    def plain(self) -> str:
        """Repository without the registry that is meant anyway."""
        return re.sub(r"^(docker\.io/)?(library/)?|^index\.docker\.io/", "", self.repository)


def parse_reference(text: str) -> Reference:
    """Split a reference; what is no reference ends up as a repository that no rule knows."""
    text = re.sub(r"^\w+://", "", text.strip())
    digest = match[0][1:] if (match := _DIGEST.search(text)) else ""
    rest = text.partition("@")[0]
    head, slash, last = rest.rpartition("/")
    name, _, tag = last.partition(":")
    return Reference(f"{head}{slash}{name}", tag, digest)


def is_cuda_base(reference: Reference) -> bool:
    """NVIDIA's own CUDA images, whose tags end."""
    return reference.plain in {"nvidia/cuda", "nvcr.io/nvidia/cuda"}


def is_devel(reference: Reference) -> bool:
    """Has it compilers and headers of CUDA, by its tag?"""
    is_gpu = bool(re.search(r"cuda|nvidia|pytorch|tensorflow|rapids|cudnn", f"{reference.repository}:{reference.tag}"))
    return is_gpu and bool(re.search(r"(^|[-_.])devel([-_.]|$)", reference.tag))


def starts_as_root(reference: Reference) -> bool:
    """Docker's default, unless the publisher is known to set a user."""
    return not (_NOT_ROOT.search(reference.plain) or re.search(r"(^|-)nonroot(-|$)", reference.tag))


def known_image(text: str) -> ImageName | None:
    """What the tables say of an image; None where the text is no reference."""
    try:
        return read_image(parse_reference(text).repository + (f":{tag}" if (tag := parse_reference(text).tag) else ""))
    except VersionError:
        return None


def cuda_in(text: str) -> str:
    """CUDA line whose libraries a base has, `some` where only its presence is known; empty where it has none.

    The `base` flavour of NVIDIA's images has the runtime alone, which costs nothing beside a framework's own.
    """
    reference = parse_reference(text)
    image = known_image(text)
    if image is None or image.gpu_free or (is_cuda_base(reference) and re.search(r"(^|-)base(-|$)", reference.tag)):
        return ""
    if image.cudas:
        return str(image.cudas[-1].line)
    return "some" if image.own_build or reference.plain.startswith(("nvcr.io/nvidia/", "pytorch/pytorch")) else ""
