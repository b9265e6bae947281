"""D-GPUBUILD: a build that needs a GPU."""

from collections.abc import Iterator

from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for instruction in recipe.instructions:
        for command in instruction.commands:
            if command.program == "nvidia-docker" and command.has("build"):
                message = "nvidia-docker gives a build no GPU: it only passes the call on"
                fix = "docker build; whatever needs a GPU is checked when the container runs"
                yield Mistake(command.line, message, fix)
            elif command.program == "nvidia-smi" and instruction.keyword == "RUN":
                message = "nvidia-smi runs while the image is built, where there is no GPU and no driver"
                fix = "take it out; check the GPU when the container starts"
                yield Mistake(command.line, message, fix)
