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
_ON_FORGE: Final = frozenset({"conda-forge", "nodefaults", "defaults", "nvidia"})
# Images whose conda takes packages from conda-forge unless a channel is named.
_FORGE: Final = re.compile(r"(^|/)(jupyter|condaforge|mambaorg|pangeo)/")


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for stage in recipe.stages:
        chain = recipe.chain_of(stage)
        before = [each for one in chain[:-1] for each in one.instructions]
        is_told = any(name == _OVERRIDE for each in before for name, _ in each.variables)
        is_forge = bool(_FORGE.search(chain[0].base))
        for instruction in stage.instructions:
            is_told = is_told or any(name == _OVERRIDE for name, _ in instruction.variables)
            exported = [name for command in instruction.commands for name, _ in command.variables]
            is_forge = is_forge or any(
                "config" in each.texts and "conda-forge" in each.texts for each in instruction.commands
            )
            for install in installs(instruction.commands) if instruction.keyword == "RUN" else ():
                if install.manager is Manager.CONDA and not is_told and _OVERRIDE not in exported:
                    yield from _of_install(install, is_forge=is_forge)


def _of_install(install: Install, *, is_forge: bool) -> Iterator[Mistake]:
    channels = {word.text for word in option_values(install.command.words, "-c", "--channel")}
    is_forge = channels <= _ON_FORGE and ("conda-forge" in channels or is_forge)
    for package in () if install.names & {"cpuonly", "pytorch-cuda"} else install.packages:
        channel = package.word.text.rpartition("::")[0]
        is_of_forge = channel == "conda-forge" if channel else is_forge
        if framework_of(package.name) in _BY_SOLVER and is_of_forge and _is_open(package):
            version = package.version if package.is_pinned else "<version>"
            yield Mistake(
                package.word,
                f"no GPU is there while an image is built, so conda-forge installs {package.name} for the CPU",
                f"set {_OVERRIDE}=12.4, the CUDA of the nodes, for the command, and ask for "
                f"'{package.name}={version}=cuda*'; for the CPU on purpose, '{package.name}={version}=cpu*'",
            )


def _is_open(package: Package) -> bool:
    """Does the solver choose between CPU and GPU? A name or a build may say which; jax itself has no device code."""
    return not (package.build or package.name == "jax" or package.name.endswith(("-gpu", "-cpu")))
