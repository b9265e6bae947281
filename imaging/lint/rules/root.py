"""D-ROOT: the last stage ends as root."""

from collections.abc import Iterator

from imaging.lint.base_images import parse_reference, starts_as_root
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    users = [instruction for instruction in recipe.image if instruction.keyword == "USER" and instruction.words]
    fix = "end with USER 1000:1000, or another number that is not 0"
    if users:
        name = users[-1].words[0].text
        if name in {"root", "0"}:
            message = f"the image ends as USER {name}: whatever breaks out of the program is root in the container"
            yield Mistake(users[-1].line, message, fix)
        return
    base = recipe.base
    reference = parse_reference(base.base) if base else None
    if base and "$" not in base.base and (reference is None or starts_as_root(reference)):
        message = "no USER is set, so the image runs as root"
        yield Mistake(recipe.stages[-1].line, message, fix)
