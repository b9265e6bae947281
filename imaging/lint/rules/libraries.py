"""D-LIBRARIES: cuDNN or NCCL without a version beside a toolkit that has one."""

import re
from collections.abc import Iterator

from imaging.lint.packages import Install, Manager, installs
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.rules.rule import Mistake
from imaging.references import known_image

_LIBRARY = re.compile(r"(lib)?(cudnn|nccl)(\d+)?(-dev|-devel|-headers)?(-cuda-\d+)?|nvidia-(cudnn|nccl)-cu\d+")
_TOOLKIT = re.compile(r"cudatoolkit|cuda-version|cuda-toolkit|cuda-runtime|pytorch-cuda|cuda|cuda-libraries")
_NAMED = re.compile(r"cuda-[\w-]*?-?\d+-\d+|cuda-\d+-\d+")  # apt: the line is in the name


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    base = known_image(recipe.base.base) if recipe.base and recipe.base.is_base_known else None
    found = [install for run in recipe.image if run.keyword == "RUN" for install in installs(run.commands)]
    pinned = {install.environment for install in found if _pins_toolkit(install)}
    for install in found:
        is_beside = bool(base and base.cudas) or install.environment in pinned
        for package in install.packages if is_beside and not install.has_constraints else ():
            if _LIBRARY.fullmatch(package.name) and not package.is_pinned:
                message = (
                    f"{package.name} has no version beside a pinned CUDA toolkit: a rebuild may bring a major "
                    "that nothing loads"
                )
                sign = "==" if install.manager in {Manager.PIP, Manager.UV} else "="
                fix = f"write {package.name}{sign}<version that was built for this CUDA line>"
                yield Mistake(package.word.line, message, fix)


def _pins_toolkit(install: Install) -> bool:
    return any(
        (_TOOLKIT.fullmatch(package.name) and package.is_pinned) or _NAMED.fullmatch(package.name)
        for package in install.packages
    )
