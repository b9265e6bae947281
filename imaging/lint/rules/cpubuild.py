"""D-CPUBUILD: conda's CPU build of a framework, because a build has no GPU."""

import re
from collections.abc import Iterator
from typing import Final

from compat.evidence.names.distributions import framework_of
from imaging.lint.packages import Install, Manager, installs
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.requirements import Package
from imaging.lint.rules.rule import Mistake
from imaging.lint.shell import option_values

_OVERRIDE: Final = "CONDA_OVERRIDE_CUDA"
_BY_SOLVER: Final = frozenset({"pytorch", "tensorflow", "jax"})  # conda-forge has both builds under one name
# Images whose conda takes packages from conda-forge unless a channel is named.
_FORGE: Final = re.compile(r"(^|/)(jupyter|condaforge|mambaorg|pangeo)/")


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    base = recipe.base.base if recipe.base else ""
    is_told = False
    for instruction in recipe.image:
        is_told = is_told or any(name == _OVERRIDE for name, _ in instruction.variables)
        for install in installs(instruction.commands) if instruction.keyword == "RUN" else ():
            exported = [name for command in instruction.commands for name, _ in command.variables]
            if install.manager is Manager.CONDA and not is_told and _OVERRIDE not in exported:
                yield from _of_install(install, base)


def _of_install(install: Install, base: str) -> Iterator[Mistake]:
    channels = {word.text for word in option_values(install.command.words, "-c", "--channel")}
    if install.names & {"cpuonly", "pytorch-cuda"} or not (channels == {"conda-forge"} or _is_forge(channels, base)):
        return
    for package in install.packages:
        if framework_of(package.name) in _BY_SOLVER and _is_open(package):
            version = package.version or "<version>"
            yield Mistake(
                package.word,
                f"a build has no GPU, so conda-forge installs the build of {package.name} for the CPU",
                f"tell conda which CUDA the nodes have: {_OVERRIDE}=12.4 {install.command.program} …, "
                f"and ask for the build: {package.name}={version}=cuda*",
            )


def _is_forge(channels: set[str], base: str) -> bool:
    return channels <= {"conda-forge", "nvidia"} and ("conda-forge" in channels or bool(_FORGE.search(base)))


def _is_open(package: Package) -> bool:
    """Does the solver choose between CPU and GPU? A name, a channel or a build may say which."""
    return not (package.build or package.name.endswith(("-gpu", "-cpu")) or "::" in package.word.text)
