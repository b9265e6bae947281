"""D-LIBRARIES: a part of CUDA without a version."""

import re
from collections.abc import Iterator
from typing import Final

from imaging.lint.frameworks import brought_cuda, least_of
from imaging.lint.packages import Install, Manager, installs
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.requirements import Package
from imaging.lint.rules.rule import Mistake
from imaging.references import known_image

_LIBRARY: Final = re.compile(r"(lib)?(cudnn|nccl)(\d+)?(-dev|-devel|-headers)?(-cuda-\d+)?|nvidia-(cudnn|nccl)-cu\d+")
_TOOLKIT: Final = re.compile(r"cudatoolkit|cuda-version|cuda-toolkit|cuda-runtime|pytorch-cuda|cuda|cuda-libraries")
_NAMED: Final = re.compile(r"cuda-[\w-]*?-?\d+-\d+|cuda-\d+-\d+")  # apt: the line is in the name
# Parts that decide which driver is needed.
_OF_CONDA: Final = re.compile(rf"{_TOOLKIT.pattern}|cuda-python")
_OF_SYSTEM: Final = re.compile(r"cuda-(toolkit|runtime|libraries)(-dev)?|nvidia-cuda-[\w-]+")
_WHEEL: Final = re.compile(
    r"cuda-python|nvidia-(cuda-[a-z]+|cublas|cufft|cusolver|cusparse|curand|nccl|cudnn)(-cu\d+)?"
)


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    base = known_image(recipe.base.base) if recipe.base and recipe.base.is_base_known else None
    found = [install for run in recipe.image if run.keyword == "RUN" for install in installs(run.commands)]
    pinned = {install.environment for install in found if _pins_toolkit(install)}
    decided = pinned | {each.environment for each in found if _pins_framework(each)}
    for install in found:
        is_beside = bool(base and base.cudas) or install.environment in pinned
        for package in install.packages if not install.has_constraints else ():
            if package.is_pinned:
                continue
            is_wheel_of_torch = _part(install) is _WHEEL and install.environment in decided
            if is_beside and _LIBRARY.fullmatch(package.name) and not is_wheel_of_torch:
                message = (
                    f"{package.name} has no version beside a pinned CUDA toolkit: a rebuild may bring a major "
                    "that nothing loads"
                )
                fix = f"write {package.name}{_sign(install)}<version that was built for this CUDA line>"
                yield Mistake(package.word, message, fix)
            elif install.environment not in decided and _part(install).fullmatch(package.name):
                least = least_of(package)
                message = f"{package.name} has no exact version: a rebuild may need a newer driver{least}"
                yield Mistake(package.word, message, _fix(install, package))


def _part(install: Install) -> re.Pattern[str]:
    is_wheel = install.manager in {Manager.PIP, Manager.UV}
    return _WHEEL if is_wheel else _OF_CONDA if install.manager is Manager.CONDA else _OF_SYSTEM


def _sign(install: Install) -> str:
    return "==" if install.manager in {Manager.PIP, Manager.UV} else "="


def _fix(install: Install, package: Package) -> str:
    line = "the newest CUDA line that your oldest driver reaches"
    if _part(install) is _OF_SYSTEM:
        named = "cuda-toolkit-12-4" if "toolkit" in package.name else "cuda-libraries-12-4"
        return f"install NVIDIA's package of {line}, such as {named}"
    return f"pin {line}: {package.name}{_sign(install)}<version>"


def _pins_toolkit(install: Install) -> bool:
    return any(
        (_TOOLKIT.fullmatch(package.name) and package.is_pinned) or _NAMED.fullmatch(package.name)
        for package in install.packages
    )


def _pins_framework(install: Install) -> bool:
    """A framework's wheel of one version requires one version of each part."""
    return any(package.is_pinned and brought_cuda(install, package) for package in install.packages)
