"""D-COMMAND: an image for batch without a command."""

from collections.abc import Iterator

from imaging.lint.recipe import LintContext, Recipe, Role
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    if context.role is not Role.BATCH:
        return
    if not any(instruction.keyword in {"CMD", "ENTRYPOINT"} for instruction in recipe.image):
        yield Mistake(
            recipe.stages[-1].line,
            "an image for batch jobs has neither ENTRYPOINT nor CMD: a job would start the base's shell and end "
            "at once",
            'end with ENTRYPOINT ["python", "train.py"], or CMD',
        )
