"""D-VENV: pip in a Python that the distribution manages."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import Final

from imaging.lint.base_images import managing_release
from imaging.lint.packages import Manager, install_of
from imaging.lint.recipe import Command, Instruction, LintContext, Recipe
from imaging.lint.rules.rule import Mistake

_SINCE: Final = {"ubuntu": 23.04, "debian": 12}
_ALLOWS: Final = frozenset({"--target", "-t", "--prefix", "--root", "--python"})
# Another Python than the distribution's, or its rule switched off.
_OTHER: Final = re.compile(
    r"(?i)conda|mamba|pyenv|deadsnakes|EXTERNALLY|break-system-packages|pip\.conf|^python:|python-build|altinstall|virtualenv"
)
_OF_SYSTEM: Final = re.compile(
    r"\$\{?PATH\}?|/usr/.*|/s?bin|/opt/nvidia/.*|/root/.*|/home/.*/\.local/bin|~/.*|\$HOME/.*|"
)


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    for stage in recipe.stages:
        chain = recipe.chain_of(stage)
        release = managing_release(chain[0], _SINCE)
        if release is None or any(_is_other(each) for one in chain[:-1] for each in one.instructions):
            continue
        for instruction in stage.instructions:
            if _is_other(instruction):
                break
            refused = next(filter(_is_refused, instruction.commands), None) if instruction.keyword == "RUN" else None
            if refused is not None:
                yield Mistake(
                    refused.line,
                    f"pip ends with externally-managed-environment: {release} does not let pip change its Python",
                    "make an environment first: apt-get install python3-venv, python3 -m venv /opt/venv, and "
                    "ENV PATH=/opt/venv/bin:$PATH",
                )
                break


def _is_other(instruction: Instruction) -> bool:
    """May pip be that of another Python from here on?"""
    variables = chain(instruction.variables, *(each.variables for each in instruction.commands))
    if any(name == "PIP_BREAK_SYSTEM_PACKAGES" or _is_path(name, word.text) for name, word in variables):
        return True
    if any(each.program == "make" and each.has("install") for each in instruction.commands):
        return True  # perhaps a Python of its own
    texts = [*instruction.flags.values()] + [word.text for word in instruction.words]
    return any(map(_OTHER.search, [*texts, *(text for each in instruction.commands for text in each.texts)]))


def _is_path(name: str, value: str) -> bool:
    """Does it put a folder of programs into PATH that is none of the system's?"""
    return name == "PATH" and not all(map(_OF_SYSTEM.fullmatch, value.strip("\"'").split(":")))


def _is_refused(command: Command) -> bool:
    install = install_of(command)
    is_own = command.words[:1] and command.words[0].text in {"pip", "pip3", "python3", "python", "/usr/bin/pip3"}
    is_allowed = any(word.text.partition("=")[0] in _ALLOWS for word in command.arguments)
    return bool(install and install.manager is Manager.PIP and is_own and not install.environment and not is_allowed)
