"""Type of a linter rule: id, sentences, a check and two examples. `index.py` lists all rules."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from imaging.lint.recipe import Finding, Kind, LintContext, Recipe, Role, Severity

DIGEST: Final = "sha256:" + "4" * 64  # of the examples
IMAGE_FILES: Final = frozenset({Kind.DOCKERFILE, Kind.DEFINITION})
ALL_FILES: Final = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class Mistake:
    """A check's result at one line: the parts of a finding beyond its rule."""

    line: int
    message: str
    fix: str
    severity: Severity | None = None  # None: the rule's own
    is_of_module: bool = False  # an environment module that the file loads


Check = Callable[[Recipe, LintContext], Iterator[Mistake]]


@dataclass(frozen=True, slots=True)
class Example:
    """A file that a rule must pass or report. The tests run each."""

    text: str
    kind: Kind = Kind.DOCKERFILE
    role: Role = Role.APPLICATION
    has_ignore_file: bool | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One mistake. `passing` must pass every rule, `failing` must have it."""

    id: str
    title: str
    says: str
    why: str
    fix: str
    sources: tuple[str, ...]
    severity: Severity  # the worst it can report
    check: Check
    passing: Example
    failing: Example
    kinds: frozenset[Kind] = frozenset({Kind.DOCKERFILE})
    number: str = ""  # of the mistake in the project's list: E7; empty for mistakes unrelated to GPUs

    def findings(self, recipe: Recipe, context: LintContext) -> Iterator[Finding]:
        """The rule's findings for a file; none for kinds of file that it does not check."""
        for each in self.check(recipe, context) if recipe.kind in self.kinds else ():
            severity = each.severity or self.severity
            yield Finding(self.id, severity, each.line, each.message, each.fix, each.is_of_module)
