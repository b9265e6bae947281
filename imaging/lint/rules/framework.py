"""D-FRAMEWORK: a framework without a version."""

from collections import defaultdict
from collections.abc import Iterator
from itertools import chain

from compat.evidence.names.distributions import framework_of
from imaging.lint.frameworks import INDEXES, least_of, python_installs
from imaging.lint.packages import Install, Manager
from imaging.lint.recipe import LintContext, Recipe, Severity
from imaging.lint.requirements import Package
from imaging.lint.rules.rule import Mistake
from imaging.lint.shell import option_values
from imaging.references import known_image

_CONSTRAINTS = frozenset({"PIP_CONSTRAINT", "UV_CONSTRAINT", "PIP_REQUIRE_HASHES"})


def check(recipe: Recipe, _: LintContext) -> Iterator[Mistake]:
    variables = chain.from_iterable(each.variables for each in recipe.instructions)
    if any(name in _CONSTRAINTS for name, _ in variables):
        return
    there = _there(recipe)
    for install in python_installs(recipe, every_stage=True):
        known = there[install.environment]
        for package in install.packages if not install.has_constraints else ():
            for extra in sorted(package.extras):
                if (brought := framework_of(extra)) and brought not in {*known, framework_of(package.name)}:
                    message = f"{package.name}[{extra}] brings {brought} without an exact version"
                    yield Mistake(package.word, message, f"pin {brought} beside it, or install from a lock file")
            framework = framework_of(package.name)
            if framework and framework not in known and not package.is_pinned and not _is_for_cpu(install, package):
                yield Mistake(
                    package.word,
                    f"{package.name} has no exact version: the newest one may need a CUDA that the driver does "
                    f"not reach{least_of(package)}",
                    f"write {package.name}{'=' if install.manager is Manager.CONDA else '=='}<version>, or install "
                    "from a lock file",
                    # A library leaves the version to whoever installs it.
                    Severity.WARNING if (package.word.path or recipe.path).endswith(".toml") else None,
                )


def _there(recipe: Recipe) -> dict[str, set[str]]:
    """Frameworks whose version is decided, by environment: pip and conda keep what is installed and fits."""
    found = defaultdict[str, set[str]](set)
    for install in python_installs(recipe, every_stage=True):
        found[install.environment] |= {framework_of(each.name) for each in install.packages if each.is_pinned}
    base = known_image(recipe.base.base) if recipe.base and recipe.base.is_base_known else None
    if base is not None and base.framework:
        found[""].add(base.framework)
    return found


def _is_for_cpu(install: Install, package: Package) -> bool:
    indexes = option_values(install.command.words, *INDEXES)
    return package.name.endswith("-cpu") or any(word.text.rstrip("/").endswith("/cpu") for word in indexes)
