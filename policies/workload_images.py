"""Facts about a workload's images: name, reference, contents, size. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from fleet.unknown import UNKNOWN
from imaging.inspection.facts import ImageContents
from imaging.references import ImageReference
from imaging.size.estimate import Origin, Size
from imaging.size.measured import size_of
from policies.model import Image, Planned, Site, Workload


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What is known of one image.

    `text` is as given, None if not known yet; `reference` is None too if the text is no reference.
    `contents` is None if nothing was read of the image, or without a digest.
    """

    text: str | None
    name: str  # the stack's name for it, or its repository's; empty if unknown
    reference: ImageReference | None = None
    is_own: bool = False  # built by this stack
    contents: ImageContents | None = None
    planned: Planned | None = None  # if this update builds it

    @property
    def key(self) -> str:
        """Equal for the same image; empty without a known reference or name."""
        return str(self.reference) if self.reference else self.name

    @property
    def size(self) -> Size | None:
        """Its size; `origin` is the source, and `spec` means a lower bound."""
        if self.contents:
            return size_of(self.contents)
        return self.planned.least if self.planned else None


def image_facts(image: Image, site: Site) -> ImageFacts:
    """What the site knows of it."""
    if image.text is UNKNOWN:
        is_own = image.name in site.own_images
        return ImageFacts(None, image.name, is_own=is_own, planned=site.planned_of(image.name) if is_own else None)
    if not isinstance(image.text, str) or (reference := _parsed(image.text)) is None:
        return ImageFacts(image.text if isinstance(image.text, str) else "", "")
    is_own = bool(site.own_registry) and reference.is_in(site.own_registry or "")
    name = image.name if image.name and not is_own else reference.repository.rpartition("/")[2]
    return ImageFacts(image.text, name, reference, is_own, site.contents_of(image.text) if reference.digest else None)


def different_images(workload: Workload, site: Site) -> Iterator[ImageFacts]:
    """Each image once, even if only its name is known. P-PIN reports an image without a name."""
    seen = set()
    for image in (image_facts(each, site) for each in workload.images):
        if image.key and image.key not in seen:
            seen.add(image.key)
            yield image


@lru_cache(4096)  # every rule about images asks again
def _parsed(text: str) -> ImageReference | None:
    try:
        return ImageReference.parse(text)
    except ValueError:
        return None


# Docker's official single-architecture images, and usual suffixes of tags and repositories.
_NAMED = re.compile(
    r"(?:^|/)(arm64v8|arm32v\d|ppc64le|s390x|riscv64)/|[-_.](arm64|aarch64|ppc64le|s390x|riscv64)(?:v8)?$"
)
# NVIDIA's Jetson images, which are arm64: l4t-pytorch, pytorch:24.06-py3-igpu.
_JETSON = re.compile(r"/l4t-|[-_.]igpu$")
_IN_TAG = re.compile(r"(?:^|[-_.])(?:linux[-_.])?(arm64|aarch64|ppc64le|s390x|riscv64)(?:v8)?(?=$|[-_.])")
# A tag with several architectures, or a cross compiler.
_SEVERAL = re.compile(r"amd64|x86|multi|cross|universal|any|qemu|to[-_.]?arm")
_WINDOWS = re.compile(
    r"(?:^|[-_.])(?:windowsservercore|nanoserver|windows(?=$|[-_.](?:amd64|ltsc|1809|20\d\d|servercore)))"
)
_ALSO: Final = {"arm64v8": "arm64", "aarch64": "arm64"}


def processor(image: ImageFacts) -> str:
    """Its target processor in Kubernetes terms: amd64, arm64; empty if unknown."""
    if image.contents is not None:
        return image.contents.platform.split("/")[1] if image.contents.platform.count("/") else ""
    if image.reference is None:
        return ""
    tag = image.reference.tag or ""
    if _JETSON.search(f"{image.reference.repository}:{tag}"):
        return "arm64"
    tag = "" if _SEVERAL.search(tag) else tag
    named = _IN_TAG.findall(tag)
    if len(all_named := {_ALSO.get(str(each), str(each)) for each in named}) == 1:
        return all_named.pop()
    for text in (image.reference.repository, tag):
        if found := _NAMED.search(text):
            name = found[1] or found[2]
            return _ALSO.get(name, "arm" if name.startswith("arm32") else name)
    return ""


def system(image: ImageFacts) -> str:
    """Its target system in Kubernetes terms: linux, windows; empty if unknown."""
    if image.contents is not None:
        return image.contents.platform.partition("/")[0]
    if image.reference is None:
        return ""
    is_base = re.search(r"(?:^|/)windows/(?:servercore|nanoserver|server)(?:/|$)", image.reference.repository)
    return "windows" if is_base or _WINDOWS.search(image.reference.tag or "") else ""


def at_least(size: Size) -> str:
    """Prefix of a lower bound."""
    return "at least " if size.origin is Origin.SPEC else ""
