"""D-FRAMEWORK: a framework without a version."""

from __future__ import annotations

from collections.abc import Iterator

from compat.evidence.names.distributions import framework_of
from imaging.lint.frameworks import python_installs
from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.rules.rule import DIGEST, IMAGE_FILES, Example, Mistake, Rule


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


RULE = Rule(
    id="D-FRAMEWORK",
    number="E4",
    title="Framework not pinned",
    says="TensorFlow, PyTorch, JAX, CuPy and their like are installed in one exact version.",
    why=(
        "A framework's build fixes CUDA and so the lowest driver: on driver 418.88 a rebuild with the newest "
        "TensorFlow stopped working at 2.4, without a change of the file."
    ),
    fix="Pin the version, best with a lock file for the whole image.",
    sources=(
        "https://www.tensorflow.org/install/source#gpu",
        "https://pip.pypa.io/en/stable/topics/repeatable-installs/",
    ),
    severity=Severity.ERROR,
    check=check,
    kinds=IMAGE_FILES,
    passing=Example(f"FROM python:3.12-slim@{DIGEST}\nRUN pip install --no-cache-dir torch==2.6.0\nUSER 1000\n"),
    failing=Example(f"FROM python:3.12-slim@{DIGEST}\nRUN pip install --no-cache-dir 'torch>=2'\nUSER 1000\n"),
)
