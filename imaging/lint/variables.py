"""Variables that a file sets for the programs of an image or a job."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.containers import DOCKER
from imaging.lint.recipe import Kind, Recipe, Word
from imaging.lint.shell import option_values


def set_variables(recipe: Recipe) -> Iterator[tuple[str, Word]]:
    """Name and value of variables at run time: ENV, exports of scripts, `docker run -e`."""
    for instruction in recipe.image:
        if instruction.keyword == "ENV":
            yield from instruction.variables
        elif instruction.keyword in {"SCRIPT", "CMD", "ENTRYPOINT"}:
            for command in instruction.commands:
                yield from command.variables
        if recipe.kind is Kind.SCRIPT:
            for command in instruction.commands:
                if command.program in DOCKER:
                    yield from _passed(command.arguments)


def _passed(words: tuple[Word, ...]) -> Iterator[tuple[str, Word]]:
    for given in option_values(words, "-e", "--env", may_touch=True):
        name, _, value = given.text.partition("=")
        yield name, Word(value, given.line)
