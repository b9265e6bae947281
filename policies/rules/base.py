"""P-BASE: the Linux release of an image still gets security updates."""

import datetime as dt
from collections.abc import Iterator

from imaging.inspection.facts import ImageContents
from imaging.spec.os_support import Release, release_in
from policies.finding import Finding, Level
from policies.model import Rule, Site, Workload
from policies.workload_images import ImageFacts, different_images

SOON = dt.timedelta(days=90)
# Labels set by distributions; Ubuntu's name and version are separate.
_NAME, _VERSION = "org.opencontainers.image.ref.name", "org.opencontainers.image.version"
_BASE = "org.opencontainers.image.base.name"


def check(workload: Workload, site: Site) -> Iterator[Finding]:
    """The image's reported release; before the build, the one named after its spec's base."""
    for image in different_images(workload, site):
        if (release := _release(image)) is not None:
            yield from _of_release(image, release, site)
        elif image.is_own and image.reference is not None:
            was_read = image.contents is not None and image.contents.deep is not None
            yield Finding(_unknown(image), Level.UNPROVED, is_own=not was_read)


def _of_release(image: ImageFacts, release: Release, site: Site) -> Iterator[Finding]:
    left = release.ends - site.today
    support = f"{release.what} of {release}, the base of {image.name},"
    if left < dt.timedelta(0):
        level = Level.REFUSE if site.limits.refuse_unsupported_base else Level.WARN
        yield Finding(f"{support} ended on {release.ends} ({release.source}): it gets no security fixes", level)
    elif left <= SOON:
        yield Finding(f"{support} ends on {release.ends}, in {left.days} days ({release.source})", Level.WARN)


def _release(image: ImageFacts) -> Release | None:
    if image.contents is None:
        return release_in(image.planned.base) if image.planned else None
    deep = image.contents.deep
    return release_in(deep.system) if deep and deep.system else _labelled(image.contents)


def _labelled(contents: ImageContents) -> Release | None:
    labels = dict(contents.settings.labels)
    return release_in(f"{labels.get(_NAME, '')} {labels.get(_VERSION, '')}") or release_in(labels.get(_BASE, ""))


def _unknown(image: ImageFacts) -> str:
    deep = image.contents.deep if image.contents else None
    if deep is None:
        return f"the Linux release of {image.name} is not known: its layers were not read"
    what = f"{deep.system} is not in the table of releases" if deep.system else "it has no os-release file"
    return f"it is not known how long {image.name} will get security updates: {what}"


RULE = Rule(
    id="P-BASE",
    says="the Linux release of an image still gets free security updates",
    remedy="Use a base with a newer release; site.image_limits.refuse_unsupported_base turns this into a refusal.",
    check=check,
)
