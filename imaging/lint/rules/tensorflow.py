"""D-TENSORFLOW: TensorFlow 1 and 2 in one environment."""

import re
from collections.abc import Iterator

from imaging.lint.frameworks import is_tensorflow, python_installs
from imaging.lint.recipe import LintContext, Recipe, Word
from imaging.lint.rules.rule import Mistake
from imaging.references import known_image


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    there: dict[str, tuple[int, Word | None]] = {}  # environment → major, and its place; None: the base image
    base = known_image(recipe.base.base) if recipe.base and recipe.base.is_base_known else None
    if base and base.framework == "tensorflow" and base.framework_version:
        there[""] = (int(base.framework_version.partition(".")[0]), None)
    for install in python_installs(recipe):
        for package in install.packages:
            number = re.match(r"\d+", package.version)
            is_for_some = ";" in package.word.text  # a marker: for some Pythons or systems
            if not is_tensorflow(package) or is_for_some or (package.is_pinned and number is None):
                continue
            major = int(number[0]) if number else 2  # bare: the newest
            first = there.setdefault(install.environment, (major, package.word))
            if first[0] != major:
                origin = first[1].place_from(package.word, recipe) if first[1] else "the base image"
                where = f"environment {install.environment}" if install.environment else "one environment"
                yield Mistake(
                    package.word,
                    f"TensorFlow {major} goes into {where} with TensorFlow {first[0]} of {origin}: "
                    "one overwrites the other",
                    "make an environment for each major, each with its own Jupyter kernel",
                )
