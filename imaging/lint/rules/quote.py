"""D-QUOTE: a version bound that the shell takes for a redirection."""

import re
from collections.abc import Iterator

from imaging.lint.packages import installs
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for install in installs(recipe.commands):
        for word in install.command.written:
            if re.fullmatch(r"=\d[\w.*+!,<>=]*|\d+(?:\.\d+)*", word.text):
                bound = f">{word.text}"
                message = f"the shell reads {bound} as a redirection: no lower bound, and a file named {word.text}"
                yield Mistake(word, message, f"quote the whole requirement: 'name{bound}'")
