"""D-LISTS: a distribution's package lists left in a layer."""

from collections.abc import Iterator
from typing import Final

from imaging.lint import package_caches
from imaging.lint.recipe import Kind, LintContext, Recipe
from imaging.lint.rules import cleanup
from imaging.lint.rules.rule import Mistake

_IN_POST: Final = {
    package_caches.APT: "end %post with rm -rf /var/lib/apt/lists/*",
    package_caches.RPM: "end %post with dnf clean all",
    package_caches.APK: package_caches.APK.fix,
}


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    for cache, line in cleanup.never_cleared(recipe, context, package_caches.LIGHT):
        message = f"the image keeps {cache.leaves}: tens of MB, and out of date tomorrow"
        yield Mistake(line, message, _IN_POST[cache] if recipe.kind is Kind.DEFINITION else cache.fix)
