"""D-FRAMEWORK: a framework without a version."""

from collections.abc import Iterator

from compat.evidence.names.distributions import framework_of
from imaging.lint.frameworks import python_installs
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for install in python_installs(recipe):
        if install.has_constraints:
            continue
        for package in install.packages:
            if framework_of(package.name) and not package.is_pinned:
                yield Mistake(
                    package.word.line,
                    f"{package.name} has no exact version: the newest one may need a CUDA that the driver does "
                    "not reach",
                    f"write {package.name}{'=' if install.manager == 'conda' else '=='}<version>, or install from "
                    "a lock file",
                )
