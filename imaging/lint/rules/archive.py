"""D-ARCHIVE: a driver from a third party's archive, or from two sources."""

from __future__ import annotations

import re
from collections.abc import Iterator

from imaging.lint.recipe import Kind, LintContext, Recipe, Severity
from imaging.lint.rules.rule import ALL_FILES, Example, Mistake, Rule

_PPA = re.compile(
    r"ppa:(graphics-drivers|xorg-edgers|oibaf|kisak)/|ppa\.launchpad(content)?\.net/(graphics-drivers|xorg-edgers)/"
)


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for command in recipe.commands:
        for word in command.arguments:
            if _PPA.search(word.text):
                yield Mistake(
                    word.line,
                    f"{word.text} is a third party's archive without fixed versions: the driver changes with "
                    "every upgrade",
                    "install one driver version from NVIDIA's or the distribution's archive, pinned, and note it "
                    "as the node's fact",
                )


RULE = Rule(
    id="D-ARCHIVE",
    number="E34",
    title="Driver from an unpinned archive",
    says="A host's driver comes from one source, in one pinned version.",
    why="An archive that only keeps the newest build moves the driver, and with it what CUDA the node runs.",
    fix="One source; the version written down; never a second driver beside it (a driver container overwrites it).",
    sources=("https://docs.nvidia.com/datacenter/tesla/driver-installation-guide/index.html",),
    severity=Severity.ERROR,
    check=check,
    kinds=ALL_FILES,
    passing=Example("sudo apt-get install -y nvidia-driver-535=535.183.01-0ubuntu1\n", Kind.SCRIPT),
    failing=Example("sudo add-apt-repository ppa:graphics-drivers/ppa\n", Kind.SCRIPT),
)
