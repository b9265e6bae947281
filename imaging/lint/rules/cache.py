"""D-CACHE: a package cache left in a layer."""

from collections.abc import Iterator

from imaging.lint import package_caches
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules import cleanup
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    for cache, line in cleanup.never_cleared(recipe, context, package_caches.HEAVY):
        message = f"{cache.leaves} stays in this layer: bytes that every node pulls and nobody reads"
        yield Mistake(line, message, cache.fix)
