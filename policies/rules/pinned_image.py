"""P-PIN: an image is named by its digest and comes from a registry that the site allows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from components.placement import UNKNOWN
from policies.findings import Finding, Level, Rule, Site, Workload

DIGEST = re.compile(r"@sha256:[0-9a-f]{64}$")
DEFAULT_REGISTRY = "docker.io"


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Every container's image."""
    for kind in ("initContainers", "containers"):
        containers = workload.pod.get(kind)
        if containers is UNKNOWN:
            yield Finding(f"{kind} are not known yet", Level.UNPROVED)
        for index, container in enumerate(containers if isinstance(containers, Sequence) else ()):
            image = container.get("image") if isinstance(container, Mapping) else UNKNOWN
            yield from _image(f"{kind}[{index}].image", image, site)


def _image(path: str, image: object, site: Site) -> Iterator[Finding]:
    if image is UNKNOWN:
        yield Finding(f"{path} is not known yet: it is built by this update", Level.UNPROVED)
    elif not isinstance(image, str) or not image:
        yield Finding(f"{path} is missing")
    else:
        if not DIGEST.search(image):
            yield Finding(f"{path} {image} has no digest: what runs can change without a deployment")
        if not any(_is_in(image, registry) for registry in site.allowed_registries):
            yield Finding(f"{path} {image} is not from an allowed registry ({', '.join(site.allowed_registries)})")


def _is_in(image: str, registry: str) -> bool:
    return _with_registry(image).startswith(registry.rstrip("/") + "/")


def _with_registry(image: str) -> str:
    """`busybox` is docker.io/library/busybox."""
    first, slash, _ = image.partition("/")
    if slash and ("." in first or ":" in first or first == "localhost"):
        return image
    return f"{DEFAULT_REGISTRY}/{image}" if slash else f"{DEFAULT_REGISTRY}/library/{image}"


RULE = Rule(
    id="P-PIN",
    says="images are pinned by digest and come from an allowed registry",
    remedy="Write repository@sha256:…, or add the registry to site.allowed_registries.",
    check=check,
)
