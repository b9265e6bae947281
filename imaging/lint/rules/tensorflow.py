"""D-TENSORFLOW: TensorFlow 1 and 2 in one environment."""

from collections.abc import Iterator

from imaging.lint.frameworks import is_tensorflow, python_installs
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake
from imaging.references import known_image


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    there: dict[str, tuple[int, str]] = {}  # environment → major and its origin
    base = known_image(recipe.base.base) if recipe.base and recipe.base.is_base_known else None
    if base and base.framework == "tensorflow" and base.framework_version:
        there[""] = (int(base.framework_version.partition(".")[0]), "the base image")
    for install in python_installs(recipe):
        for package in install.packages:
            if not is_tensorflow(package) or (package.is_pinned and not package.version[:1].isdigit()):
                continue
            major = int(package.version.partition(".")[0]) if package.version[:1].isdigit() else 2  # bare: the newest
            first = there.setdefault(install.environment, (major, package.word.place))
            if first[0] != major:
                where = f"environment {install.environment}" if install.environment else "one environment"
                yield Mistake(
                    package.word,
                    f"TensorFlow {major} goes into {where} with TensorFlow {first[0]} of {first[1]}: "
                    "one overwrites the other",
                    "make an environment for each major, each with its own Jupyter kernel",
                )
