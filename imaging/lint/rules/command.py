"""D-COMMAND: an image for batch without a command."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.recipe import LintContext, Recipe, Role, Severity
from imaging.lint.rules.rule import DIGEST, Example, Mistake, Rule


def check(recipe: Recipe, context: LintContext) -> Iterator[Mistake]:
    if context.role is not Role.BATCH:
        return
    if not any(instruction.keyword in {"CMD", "ENTRYPOINT"} for instruction in recipe.image):
        yield Mistake(
            recipe.stages[-1].line,
            "an image for batch jobs has neither ENTRYPOINT nor CMD: a job would start the base's shell and end "
            "at once",
            'end with ENTRYPOINT ["python", "train.py"], or CMD',
        )


RULE = Rule(
    id="D-COMMAND",
    number="E22",
    title="No command in an image for batch",
    says="An image for unattended runs says what it runs (--role batch).",
    why="Without a command a job starts what the base happens to start, a shell as a rule, and succeeds without work.",
    fix="ENTRYPOINT or CMD in the last stage.",
    sources=("https://docs.docker.com/build/building/best-practices/#entrypoint",),
    severity=Severity.ERROR,
    check=check,
    passing=Example(f'FROM ubuntu:24.04@{DIGEST}\nUSER 1000\nCMD ["nvidia-smi"]\n', role=Role.BATCH),
    failing=Example(f"FROM ubuntu:24.04@{DIGEST}\nUSER 1000\n", role=Role.BATCH),
)
