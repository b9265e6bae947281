"""D-NV: --nv after the image."""

from collections.abc import Iterator

from imaging.lint.containers import APPTAINER, calls, image_at
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake

_OPTIONS = frozenset({"--nv", "--nvccli", "--rocm"})


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for command, words in calls(recipe, APPTAINER, "run", "exec", "shell"):
        at = image_at(command.program, words)
        late = [word for word in words[at + 1 :] if word.text in _OPTIONS] if at is not None else []
        if late:
            message = f"{late[0].text} comes after the image: the script gets it as an argument, and no GPU is bound"
            fix = f"{command.program} {command.plain[0]} {late[0].text} <image> …: options come before the image"
            yield Mistake(late[0].line, message, fix)
