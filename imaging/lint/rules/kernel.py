"""D-KERNEL: a Jupyter kernel that is not registered, or for everybody."""

from __future__ import annotations

import re
from collections.abc import Iterator

from imaging.lint.recipe import Kind, LintContext, Recipe, Severity
from imaging.lint.rules.rule import ALL_FILES, Example, Mistake, Rule
from imaging.lint.shell import option_value

_BASE = frozenset({"$CONDA_DIR", "${CONDA_DIR}", "/opt/conda", "/usr", "/usr/local", "$CONDA_PREFIX"})


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for command in recipe.commands:
        if not re.fullmatch(r"python[\d.]*|ipykernel|ipython[\d.]*", command.program):
            continue
        texts = list(command.texts[1:])
        if texts[:2] not in (["-m", "ipykernel"], ["-m", "ipykernel_launcher"]) and command.program != "ipykernel":
            continue
        prefix = option_value(command.words, "--prefix")
        wrong = []
        if not command.has("install") and (prefix or option_value(command.words, "--name", "--display-name")):
            wrong.append("the word install is missing, so no kernel is registered")
        # In a Dockerfile an administrator declares kernels; anywhere else the base prefix is shared by everybody.
        if recipe.kind is Kind.SCRIPT and (prefix.rstrip("/") in _BASE or command.has("--sys-prefix")):
            wrong.append(
                f"{prefix or '--sys-prefix'} is the base environment: everybody sees the kernel and cannot run it"
            )
        if wrong:
            fix = "python -m ipykernel install --user --name <environment>; kernels for all are declared in the image"
            yield Mistake(command.line, "; ".join(wrong), fix)


RULE = Rule(
    id="D-KERNEL",
    number="E35",
    title="Kernel registered wrongly",
    says="A kernel is registered with `ipykernel install`, for its user, or is declared in the image.",
    why="Without install nothing is registered; in the base prefix all users see a kernel that only its maker can run.",
    fix="python -m ipykernel install --user --name <environment>",
    sources=("https://ipython.readthedocs.io/en/stable/install/kernel_install.html",),
    severity=Severity.ERROR,
    check=check,
    kinds=ALL_FILES,
    passing=Example("python -m ipykernel install --user --name tf\n", Kind.SCRIPT),
    failing=Example("python -m ipykernel --name tf --prefix=$CONDA_DIR\n", Kind.SCRIPT),
)
