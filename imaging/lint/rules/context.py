"""D-CONTEXT: the whole context is copied without an ignore file that limits it."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.rules.rule import DIGEST, Example, Mistake, Rule


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    copy = next((each for each in recipe.instructions if each.copies_everything), None)
    if copy and context.has_ignore_file is False:
        yield Mistake(
            copy.line,
            "the whole folder is copied, and there is no .dockerignore: history, data and keys go with it",
            "write a .dockerignore that begins with * and lets back in what the build needs (--context "
            "names the folder)",
        )


RULE = Rule(
    id="D-CONTEXT",
    number="E16",
    title="No ignore file",
    says="A build that copies its whole context has an ignore file.",
    why="Without one .git, data sets and credentials are sent to the builder and stay in a layer.",
    fix="A .dockerignore as an allow-list: * first, then !name for what is needed.",
    sources=("https://docs.docker.com/build/concepts/context/#dockerignore-files",),
    severity=Severity.WARNING,
    check=check,
    passing=Example(f"FROM python:3.12-slim@{DIGEST}\nCOPY . /app\nUSER 1000\n", has_ignore_file=True),
    failing=Example(f"FROM python:3.12-slim@{DIGEST}\nCOPY . /app\nUSER 1000\n", has_ignore_file=False),
)
