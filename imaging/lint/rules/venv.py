"""D-VENV: pip in a Python that the distribution manages."""

import re
from collections.abc import Iterator
from typing import Final

from imaging.lint.base_images import is_cuda_base, parse_reference
from imaging.lint.packages import Manager, install_of
from imaging.lint.recipe import Command, LintContext, Recipe
from imaging.lint.rules.rule import Mistake
from imaging.spec.os_support import Release, release_in

_SINCE: Final = {"ubuntu": 23.04, "debian": 12}
_ALLOWS: Final = frozenset({"--break-system-packages", "--target", "-t", "--prefix", "--root", "--python"})
_VARIABLE: Final = "PIP_BREAK_SYSTEM_PACKAGES"
# Another Python than the distribution's, or its marker gone.
_OTHER: Final = re.compile(r"(?i)conda|mamba|pyenv|deadsnakes|EXTERNALLY-MANAGED|python-build-standalone|/uv\b|\buv$")


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    release = _managing(recipe)
    if release is None:
        return
    for instruction in recipe.image:
        texts = [word.text for word in instruction.words] + [t for each in instruction.commands for t in each.texts]
        if any(name == _VARIABLE for name, _ in instruction.variables) or any(map(_OTHER.search, texts)):
            return
        for command in instruction.commands if instruction.keyword == "RUN" else ():
            if any(name == _VARIABLE for name, _ in command.variables):
                return
            if _is_refused(command):
                yield Mistake(
                    command.line,
                    f"pip ends with externally-managed-environment: {release} keeps its Python to its own packages",
                    "make an environment first: python3 -m venv /opt/venv, and ENV PATH=/opt/venv/bin:$PATH",
                )
                return


def _managing(recipe: Recipe) -> Release | None:
    """The release of a base whose Python is the distribution's, if it refuses pip."""
    base = parse_reference(recipe.base.base) if recipe.base and recipe.base.is_base_known else None
    if base is None or not (is_cuda_base(base) or base.name in _SINCE):
        return None
    release = release_in(str(base))
    return release if release and float(release.number) >= _SINCE.get(release.system, 1e9) else None


def _is_refused(command: Command) -> bool:
    install = install_of(command)
    is_own = command.words[:1] and command.words[0].text in {"pip", "pip3", "python3", "python", "/usr/bin/pip3"}
    is_allowed = any(word.text.partition("=")[0] in _ALLOWS for word in command.arguments)
    return bool(install and install.manager is Manager.PIP and is_own and not install.environment and not is_allowed)
