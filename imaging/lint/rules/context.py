"""D-CONTEXT: the whole context is copied without an ignore file that limits it."""

from collections.abc import Iterator

from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    copy = next((each for each in recipe.instructions if each.copies_everything), None)
    if copy and context.has_ignore_file is False:
        yield Mistake(
            copy.line,
            "the whole folder is copied, and there is no .dockerignore: history, data and keys go with it",
            "write a .dockerignore that begins with * and lets back in what the build needs (--context "
            "names the folder)",
        )
