"""D-SUBSTITUTION: a command substitution in an instruction that no shell reads."""

from collections.abc import Iterator

from imaging.lint.recipe import Kind, LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for instruction in recipe.instructions if recipe.kind is Kind.DOCKERFILE else ():
        named = [word for _, word in instruction.variables]
        named += [] if instruction.keyword in {"RUN", "CMD", "ENTRYPOINT"} else instruction.words
        if word := next((each for each in named if "$(" in each.text), None):
            yield Mistake(
                word,
                f"{instruction.keyword} runs nothing: $(…) stays in the value as it is written",
                "write the value, take it from an ARG, or set it in the RUN that needs it",
            )
