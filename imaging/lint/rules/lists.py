"""D-LISTS: a distribution's package lists left in a layer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from imaging.lint import package_caches
from imaging.lint.recipe import Kind, LintContext, Recipe, Severity
from imaging.lint.rules import cleanup
from imaging.lint.rules.rule import DIGEST, IMAGE_FILES, Example, Mistake, Rule

_IN_POST: Final = {
    package_caches.APT: "end %post with rm -rf /var/lib/apt/lists/*",
    package_caches.RPM: "end %post with dnf clean all",
    package_caches.APK: package_caches.APK.fix,
}


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    for cache, line in cleanup.never_cleared(recipe, context, package_caches.LIGHT):
        message = f"the image keeps {cache.leaves}: tens of MB, and out of date tomorrow"
        yield Mistake(line, message, _IN_POST[cache] if recipe.kind is Kind.DEFINITION else cache.fix)


RULE = Rule(
    id="D-LISTS",
    title="Package lists in a layer",
    says="apt, dnf, yum, zypper and apk leave no lists and no cache in a layer.",
    why=(
        "The lists are needed only while packages are installed. In the layer they are tens of MB that every node "
        "pulls, and a later RUN that installs without an update finds versions that are gone."
    ),
    fix="Remove them in the RUN that fetched them, or keep them on a cache mount.",
    sources=(
        "https://docs.docker.com/build/building/best-practices/#apt-get",
        "https://github.com/hadolint/hadolint/wiki/DL3009",
    ),
    severity=Severity.WARNING,
    check=check,
    kinds=IMAGE_FILES,
    passing=Example(
        f"FROM debian:12@{DIGEST}\n"
        "RUN --mount=type=cache,target=/var/lib/apt/lists --mount=type=cache,target=/var/cache/apt \\\n"
        "    apt-get update && apt-get install -y --no-install-recommends git\n"
        "USER 1000\n"
    ),
    failing=Example(f"FROM debian:12@{DIGEST}\nRUN apt-get update && apt-get install -y git\nUSER 1000\n"),
)
