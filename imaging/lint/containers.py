"""Parses calls of container programs in scripts: options, image, and its command; variables set there and in files."""

from collections.abc import Iterator
from typing import Final

from imaging.lint.recipe import Command, Kind, Recipe, Word
from imaging.lint.shell import PROGRAMS, option_values

DOCKER: Final = frozenset({"docker", "podman", "nvidia-docker", "nerdctl"})
APPTAINER: Final = frozenset({"singularity", "apptainer"})
_DOCKER_SWITCHES: Final = frozenset(PROGRAMS["switches"]["docker"])
_APPTAINER_VALUED: Final = frozenset(PROGRAMS["valued"]["apptainer"])


def calls(recipe: Recipe, programs: frozenset[str], *verbs: str) -> Iterator[tuple[Command, tuple[Word, ...]]]:
    """Calls of these programs with one of these verbs, and the words after the verb."""
    for command in recipe.commands:
        if command.program in programs:
            for index, word in enumerate(command.arguments):
                if word.text in verbs:
                    yield command, command.arguments[index + 1 :]
                    break
                if not word.text.startswith("-"):
                    break


def image_at(program: str, words: tuple[Word, ...]) -> int | None:
    """Index of the image after `run`, `exec` or `shell`; None if there is none."""
    skip = False
    for index, word in enumerate(words):
        text = word.text
        if skip:
            skip = False
        elif not text.startswith("-"):
            return index
        elif program in APPTAINER:
            skip = text in _APPTAINER_VALUED
        elif text.startswith("--"):
            skip = "=" not in text and text not in _DOCKER_SWITCHES
        else:
            skip = text[-1] not in "ditPq" and len(text) == 2
    return None


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
