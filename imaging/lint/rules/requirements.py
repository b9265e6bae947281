"""D-REQUIREMENTS: `pip install requirements.txt`."""

import re
from collections.abc import Iterator

from imaging.lint.packages import Manager, installs
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for install in installs(recipe.commands):
        if install.manager not in {Manager.PIP, Manager.UV}:
            continue
        for word in install.plain:
            if re.fullmatch(r"[\w./-]*\.(txt|lock|in)", word.text):
                message = f"pip reads {word.text} as the name of a package: -r is missing"
                yield Mistake(word, message, f"pip install -r {word.text}")
