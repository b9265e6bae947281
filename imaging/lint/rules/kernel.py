"""D-KERNEL: a Jupyter kernel that is not registered, or for everybody."""

import re
from collections.abc import Iterator

from imaging.lint.recipe import Kind, LintContext, Recipe
from imaging.lint.rules.rule import Mistake
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
