"""A workload's images and their facts: name, reference, contents, size. Pure.

Not `images.py`: the pack's own folder is first on its path, and that name is our package's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from fleet.labels import OWN_PREFIX
from fleet.unknown import UNKNOWN
from imaging.inspection.facts import ImageContents
from imaging.references import ImageReference
from imaging.size.estimate import Size
from imaging.size.measured import size_of
from imaging.size.origin import Origin
from policies.model import Planned, Site, Workload
from policies.pod_workloads import containers
from policies.shapes import at, items

# Suffix of messages about pools that an unknown value may exclude.
NOT_CERTAIN: Final = "; whether it lands there depends on what is not known yet"


@dataclass(frozen=True, slots=True)
class PodImage:
    """One image of a workload.

    `text` is the container's value, None if not known yet; `reference` is None too if the text is no reference.
    `contents` is None if nothing was read of the image, or without a digest.
    """

    path: str  # containers[0].image
    text: str | None
    reference: ImageReference | None
    name: str  # the stack's name for it; empty if unknown
    is_own: bool  # built by this stack
    contents: ImageContents | None
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


def processor(image: PodImage) -> str:
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


def system(image: PodImage) -> str:
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


def pod_images(workload: Workload, site: Site) -> Iterator[PodImage]:
    """All container images in order, then those of volumes, with duplicates: see `different_images`."""
    names = workload.image_names
    for number, container in enumerate(containers(workload.pod)):
        text = at(container.spec, "image")
        path = f"{container.path}.image" if container.path.endswith("]") else container.path
        if text is UNKNOWN:
            name = names[min(number, len(names) - 1)] if names else ""
            is_own = name in site.own_images
            yield PodImage(path, None, None, name, is_own, None, site.planned_of(name) if is_own else None)
        else:
            yield pod_image(path, text, names[number] if number < len(names) else "", site)
    yield from _of_volumes(workload.pod.get("volumes"), site)
    yield from _of_annotations(workload.annotations, site)


# Sidecars that an injector adds: sidecar.istio.io/proxyImage, dapr.io/sidecar-image.
_INJECTED = re.compile(r"/(?:[\w.-]*-)?image$|/\w*Image$")


def _of_annotations(annotations: object, site: Site) -> Iterator[PodImage]:
    """Images in annotations; P-GPU reports annotations that are not known yet."""
    for key, text in annotations.items() if isinstance(annotations, Mapping) else ():
        if _INJECTED.search(key) and not key.startswith(OWN_PREFIX) and text:
            yield pod_image(f"annotations.{key}", text, "", site)


def _of_volumes(volumes: object, site: Site) -> Iterator[PodImage]:
    """Images mounted by `image` volumes; P-GPU reports volumes that are not known yet."""
    for index, volume in enumerate(items(volumes)):
        source = None if volume is UNKNOWN else volume.get("image")
        if isinstance(text := at(volume, "csi", "volumeAttributes", "image"), str):
            yield pod_image(f"volumes[{index}].csi.volumeAttributes.image", text, "", site)
        if source is UNKNOWN:
            yield pod_image(f"volumes[{index}].image", UNKNOWN, "", site)
        elif isinstance(source, Mapping):
            yield pod_image(f"volumes[{index}].image.reference", source.get("reference"), "", site)


def pod_image(path: str, text: object, called: str, site: Site) -> PodImage:
    """One image's facts, named at a path."""
    if text is UNKNOWN:
        return PodImage(path, None, None, "", is_own=False, contents=None)
    if not isinstance(text, str) or (reference := _parsed(text)) is None:
        return PodImage(path, text if isinstance(text, str) else "", None, "", is_own=False, contents=None)
    is_own = bool(site.own_registry) and reference.is_in(site.own_registry or "")
    name = called if called and not is_own else reference.repository.rpartition("/")[2]
    return PodImage(path, text, reference, name, is_own, site.contents_of(text) if reference.digest else None)


def different_images(workload: Workload, site: Site) -> Iterator[PodImage]:
    """Each image once, even if only its name is known. P-PIN reports an image without a name."""
    seen = set()
    for image in pod_images(workload, site):
        if image.key and image.key not in seen:
            seen.add(image.key)
            yield image


def possible_pools(workload: Workload, site: Site) -> list[str]:
    """Pools that could host the workload, in fleet order.

    None if an amount is no quantity: P-HOST reports that, and the API server rejects the pod.
    """
    try:
        return list(dict.fromkeys(node.pool for node in workload.landing(site).possible))
    except ValueError:
        return []


def possible_nodes(workload: Workload, site: Site) -> list[str]:
    """The same by groups of alike nodes within a pool."""
    try:
        return list(dict.fromkeys(node.alike for node in workload.landing(site).possible))
    except ValueError:
        return []


def is_certain(
    bad: Collection[str],
    workload: Workload,
    site: Site,
    possible: Callable[[Workload, Site], list[str]] = possible_pools,
) -> bool:
    """True if the workload may land on one of `bad` for certain: no unknown can exclude it, or nothing else is left.

    `possible` lists places of the same kind as `bad`: pools, or groups of alike nodes.
    """
    certain = workload.landing(site).certain if bad else ()
    return bool(bad) and (
        any(node.pool in bad or node.alike in bad for node in certain) or set(bad) == set(possible(workload, site))
    )


def _parsed(text: str) -> ImageReference | None:
    try:
        return ImageReference.parse(text)
    except ValueError:
        return None
