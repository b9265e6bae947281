"""D-REPLACED: a second installation that replaces a framework's CUDA build by another."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from imaging.lint.frameworks import python_installs
from imaging.lint.packages import Install, Manager
from imaging.lint.recipe import LintContext, Recipe
from imaging.lint.requirements import Package
from imaging.lint.rules.rule import Mistake
from imaging.lint.shell import option_values

_INDEXES = ("--index-url", "-i", "--extra-index-url", "--index", "--default-index", "--find-links", "-f")
_FORCED = ("-U", "--upgrade", "--force-reinstall", "--reinstall", "--ignore-installed")


@dataclass(frozen=True, slots=True)
class _There:
    """The torch that an environment has so far."""

    package: Package
    build: str  # cu124, cpu; empty: the default index's


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    there: dict[str, _There] = {}
    for install in python_installs(recipe):
        if install.manager is Manager.CONDA:
            continue
        for package in install.packages:
            if package.name != "torch":
                continue
            first = there.get(install.environment)
            new = _There(package, _build(install, package))
            if first is not None and first.build != new.build and _replaces(install, package, first.package):
                old, by = (f"the {each.build} build" if each.build else "the default build" for each in (first, new))
                yield Mistake(
                    package.word,
                    f"torch becomes {by}; {old} of {first.package.word.place} is gone, and its bytes stay in the image",
                    "install torch once, from one index; name the same index in each later command",
                )
            if first is None or _replaces(install, package, first.package):
                there[install.environment] = new


def _build(install: Install, package: Package) -> str:
    """cu124, cpu, rocm6.2: by the version's local part, else by an index that is named."""
    if local := package.version.partition("+")[2]:
        return local
    for word in option_values(install.command.words, *_INDEXES):
        if match := re.search(r"/(?:whl|nightly)/([a-z]+[\d.]*)/?", word.text):
            return match[1]
    return ""


def _replaces(install: Install, package: Package, first: Package) -> bool:
    """Pip keeps what fits: 2.5.1+cu124 fits both `torch` and `torch==2.5.1`."""
    if any(word.text in _FORCED for word in install.command.arguments):
        return True
    wanted, have = package.version.partition("+"), first.version.partition("+")
    return package.is_pinned and (wanted[0] != have[0] or (bool(wanted[2]) and wanted[2] != have[2]))
