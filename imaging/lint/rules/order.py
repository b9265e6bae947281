"""D-ORDER: the whole context is copied before the dependencies are installed."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.packages import installs, installs_anything
from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.rules.rule import DIGEST, Example, Mistake, Rule


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for stage in recipe.stages:
        copied = None
        for instruction in stage.instructions:
            if instruction.copies_everything:
                copied = copied or instruction
            elif copied and instruction.keyword == "RUN":
                found = next((each for each in installs(instruction.commands) if installs_anything(each)), None)
                if found:
                    yield Mistake(
                        copied.line,
                        f"everything is copied before line {found.command.line} installs dependencies: "
                        "each edit of the code installs them again",
                        "copy the list of dependencies alone, install, and copy the code last",
                    )
                    break


RULE = Rule(
    id="D-ORDER",
    number="E15",
    title="Everything copied before the dependencies",
    says="Dependencies are installed before the code is copied.",
    why="A layer is built again when what it copies changes: with the code first, every edit installs gigabytes again.",
    fix="COPY the lock, install from it, COPY the code last.",
    sources=("https://docs.docker.com/build/cache/optimize/#order-your-layers",),
    severity=Severity.WARNING,
    check=check,
    passing=Example(
        f"FROM python:3.12-slim@{DIGEST}\n"
        "COPY requirements.lock /tmp/\n"
        "RUN pip install --no-cache-dir -r /tmp/requirements.lock\n"
        "COPY . /app\n"
        "USER 1000\n",
        has_ignore_file=True,
    ),
    failing=Example(
        f"FROM python:3.12-slim@{DIGEST}\n"
        "COPY . /app\n"
        "RUN pip install --no-cache-dir -r /app/requirements.lock\n"
        "USER 1000\n",
        has_ignore_file=True,
    ),
)
