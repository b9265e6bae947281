"""D-ORDER: the whole context is copied before the dependencies are installed."""

from collections.abc import Iterator

from imaging.lint.packages import installs, installs_anything
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for stage in recipe.stages:
        copied = None
        for instruction in stage.instructions:
            if instruction.copies_everything:
                copied = copied or instruction
            elif copied and instruction.keyword == "RUN":
                found = next((each for each in installs(instruction.commands) if installs_anything(each)), None)
                if found:
                    yield Mistake(
                        copied.line,
                        f"everything is copied before line {found.command.line} installs dependencies: "
                        "each edit of the code installs them again",
                        "copy the list of dependencies alone, install, and copy the code last",
                    )
                    break
