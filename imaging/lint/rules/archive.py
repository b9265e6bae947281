"""D-ARCHIVE: a driver from a third party's archive, or from two sources."""

import re
from collections.abc import Iterator

from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake

_PPA = re.compile(
    r"ppa:(graphics-drivers|xorg-edgers|oibaf|kisak)/|ppa\.launchpad(content)?\.net/(graphics-drivers|xorg-edgers)/"
)


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for command in recipe.commands:
        for word in command.arguments:
            if _PPA.search(word.text):
                yield Mistake(
                    word,
                    f"{word.text} is a third party's archive without fixed versions: the driver changes with "
                    "every upgrade",
                    "install one driver version from NVIDIA's or the distribution's archive, pinned, and note it "
                    "as the node's fact",
                )
