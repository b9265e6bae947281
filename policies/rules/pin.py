"""P-PIN: an image is named by its digest and comes from a registry that the site allows."""

import re
from collections.abc import Iterator
from typing import Final

from policies.finding import Finding, Level
from policies.model import Image, Rule, Site, Workload
from policies.pod_workloads import CONTAINERS
from policies.workload_images import image_facts

_DIGEST: Final = re.compile(r"sha256:[0-9a-f]{64}")


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """Every container's image."""
    for image in workload.images:
        if image.unread:
            yield Finding(f"{image.place} {image.unread}", Level.UNPROVED)
        else:
            yield from of_image(image, site)


def of_image(named: Image, site: Site) -> Iterator[Finding]:
    """One image, named by a workload or alone."""
    where, image = named.place, image_facts(named, site)
    if image.text is None:
        built = "is not known yet: this update builds it, and its contents are read afterwards"
        why = built if image.is_own else "are not known yet" if where in CONTAINERS else "is not known yet"
        yield Finding(f"{where} {why}", Level.UNPROVED)
    elif not image.text:
        yield Finding(f"{where} is missing")
    elif image.reference is None:
        # Not repeated: a text that is no reference may be an address with a password.
        like = "registry.example.edu/gpu-commons/hub@sha256:…"
        yield Finding(f"{where} is not an image reference such as {like}{_why_none(image.text)}")
    else:
        if not image.reference.digest:
            yield Finding(f"{where} {image.text} has no digest: what runs can change without a deployment")
        if not any(image.reference.is_in(registry) for registry in site.allowed_registries):
            allowed = ", ".join(site.allowed_registries)
            yield Finding(f"{where} {image.text} is not from an allowed registry ({allowed})")


def _why_none(text: str) -> str:
    """Why the text is no reference, without repeating it."""
    name, at_sign, digest = text.partition("@")
    wrong = {
        "it is a URL": "://" in text,
        "it has spaces": any(map(str.isspace, text)),
        "its repository has capital letters": re.search(r"(?:^|/)[^/:]*[A-Z][^/:]*(?::[^/]*)?$", name) is not None,
        "its digest is not sha256: and 64 hexadecimal digits": at_sign and not _DIGEST.fullmatch(digest),
    }
    return next((f": {why}" for why, is_so in wrong.items() if is_so), "")


RULE = Rule(
    id="P-PIN",
    says="images are pinned by digest and come from an allowed registry",
    remedy="Write repository@sha256:…, or add the registry to site.allowed_registries.",
    check=check,
)
