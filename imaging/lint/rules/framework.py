"""D-FRAMEWORK: a framework without a version."""

from collections.abc import Iterator

from compat.evidence.names.distributions import framework_of
from imaging.lint.frameworks import least_of, python_installs
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    found = list(python_installs(recipe))
    pinned = {framework_of(package.name) for each in found for package in each.packages if package.is_pinned}
    for install in found:
        if install.has_constraints:
            continue
        for package in install.packages:
            for extra in sorted(package.extras):
                if (brought := framework_of(extra)) and brought not in pinned and brought != framework_of(package.name):
                    message = f"{package.name}[{extra}] brings {extra} without an exact version"
                    yield Mistake(package.word, message, f"add {extra}==<version>, or install from a lock file")
            if framework_of(package.name) and not package.is_pinned:
                yield Mistake(
                    package.word,
                    f"{package.name} has no exact version: the newest one may need a CUDA that the driver does "
                    f"not reach{least_of(package)}",
                    f"write {package.name}{'=' if install.manager == 'conda' else '=='}<version>, or install from "
                    "a lock file",
                )
