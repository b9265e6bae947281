"""D-REQUIREMENTS: `pip install requirements.txt`."""

from __future__ import annotations

import re
from collections.abc import Iterator

from imaging.lint.packages import Manager, installs
from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.rules.rule import ALL_FILES, DIGEST, Example, Mistake, Rule


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for install in installs(recipe.commands):
        if install.manager not in {Manager.PIP, Manager.UV}:
            continue
        for word in install.plain:
            if re.fullmatch(r"[\w./-]*\.(txt|lock|in)", word.text):
                message = f"pip reads {word.text} as the name of a package: -r is missing"
                yield Mistake(word.line, message, f"pip install -r {word.text}")


RULE = Rule(
    id="D-REQUIREMENTS",
    number="E17",
    title="requirements.txt without -r",
    says="pip reads a requirements file with -r.",
    why="Without it pip looks for a package of that name: the build fails, or a stranger's package is installed.",
    fix="pip install -r requirements.txt",
    sources=("https://pip.pypa.io/en/stable/cli/pip_install/#cmdoption-r",),
    severity=Severity.ERROR,
    check=check,
    kinds=ALL_FILES,
    passing=Example(f"FROM python:3.12-slim@{DIGEST}\nRUN pip install --no-cache-dir -r requirements.txt\nUSER 1000\n"),
    failing=Example(f"FROM python:3.12-slim@{DIGEST}\nRUN pip install --no-cache-dir requirements.txt\nUSER 1000\n"),
)
