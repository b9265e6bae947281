"""D-PORT: a random port of the host."""

from collections.abc import Iterator

from imaging.lint.containers import DOCKER, calls
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake
from imaging.lint.shell import option_values


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for _command, words in calls(recipe, DOCKER, "run", "create"):
        for port in option_values(words, "-p", "--publish"):
            if port.text.partition("/")[0].isdigit():
                message = f"-p {port} takes a random port of the host, and listens for the whole network"
                fix = f"-p 127.0.0.1:{port}:{port}, or the address and port that you mean"
                yield Mistake(port.line, message, fix)
