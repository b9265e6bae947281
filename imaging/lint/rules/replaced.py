"""D-REPLACED: a later layer that replaces a framework's CUDA build by another."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from imaging.lint.frameworks import INDEXES
from imaging.lint.packages import Install, Manager, installs
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.requirements import Package
from imaging.lint.rules.rule import Mistake
from imaging.lint.shell import option_values

_FORCED = frozenset({"--force-reinstall", "--reinstall", "--ignore-installed", "-I"})
_UPGRADES = frozenset({"-U", "--upgrade"})
_INDEX_VARIABLE = re.compile(r"(PIP|UV)_(EXTRA_|DEFAULT_)?INDEX(_URL)?|(PIP|UV)_FIND_LINKS")


@dataclass(frozen=True, slots=True)
class _There:
    """The torch that an environment has so far."""

    package: Package
    build: str  # cu124, cpu; empty: the default index's
    line: int  # of the instruction: what one RUN replaces is in no layer, and its branches exclude each other


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    there: dict[str, _There] = {}
    for instruction in recipe.image:
        variables = chain(instruction.variables, *(each.variables for each in instruction.commands))
        named = (name for name, _ in variables)
        if any(map(_INDEX_VARIABLE.fullmatch, named)):
            return  # which index serves a command is not in the command
        for install in installs(instruction.commands) if instruction.keyword == "RUN" else ():
            for package in install.packages if install.manager in {Manager.PIP, Manager.UV} else ():
                if package.name != "torch" or ";" in package.word.text:
                    continue
                first = there.get(install.environment)
                new = _There(package, _build(install, package), instruction.line)
                is_replaced = first is not None and _replaces(install, package, first.package)
                if first is None or is_replaced:
                    there[install.environment] = new
                if first is not None and is_replaced and first.build != new.build and first.line != new.line:
                    old, by = (
                        f"the {each.build} build" if each.build else "the default build" for each in (first, new)
                    )
                    where = first.package.word.place_from(package.word, recipe)
                    yield Mistake(
                        package.word,
                        f"torch becomes {by}; {old} of {where} is gone, and its bytes stay in the image",
                        "install torch once, from one index; name the same index in each later command",
                    )


def _build(install: Install, package: Package) -> str:
    """cu124, cpu, rocm6.2: by the version's local part, else by an index that is named."""
    if local := package.version.partition("+")[2]:
        return local
    for word in option_values(install.command.words, *INDEXES):
        if match := re.search(r"/(?:whl|nightly)/([a-z]+[\d.]*)/?", word.text):
            return match[1]
    return ""


def _replaces(install: Install, package: Package, first: Package) -> bool:
    """What fits is kept: 2.5.1+cu124 fits both `torch` and `torch==2.5.1`, also with --upgrade."""
    if any(word.text in _FORCED for word in install.command.arguments):
        return True
    if not package.is_pinned:
        return any(word.text in _UPGRADES for word in install.command.arguments)
    wanted, have = package.version.partition("+"), first.version.partition("+")
    return wanted[0] != have[0] or (bool(wanted[2]) and wanted[2] != have[2])
