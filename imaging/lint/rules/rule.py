"""What a rule of the linter is: an id, sentences, a check and two examples. `index.py` lists them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from imaging.lint.recipe import Finding, Kind, Recipe, Role, Setting, Severity

DIGEST: Final = "sha256:" + "4" * 64  # of the examples
IMAGE_FILES: Final = frozenset({Kind.DOCKERFILE, Kind.DEFINITION})
ALL_FILES: Final = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class Mistake:
    """What a check found at one line: all of a finding that its rule does not know."""

    line: int
    message: str
    fix: str
    severity: Severity | None = None  # None: that of the rule
    is_of_module: bool = False  # an environment module that the file loads


Check = Callable[[Recipe, Setting], Iterator[Mistake]]


@dataclass(frozen=True, slots=True)
class Example:
    """A file that a rule is right or wrong about. The tests run each."""

    text: str
    kind: Kind = Kind.DOCKERFILE
    role: Role = Role.APPLICATION
    has_ignore_file: bool | None = None


@dataclass(frozen=True, slots=True)
class Rule:
    """One mistake. `passing` must be clean for every rule, `failing` must have it."""

    id: str
    title: str
    says: str
    why: str
    fix: str
    sources: tuple[str, ...]
    severity: Severity  # the worst it can say
    check: Check
    passing: Example
    failing: Example
    kinds: frozenset[Kind] = frozenset({Kind.DOCKERFILE})
    number: str = ""  # of the mistake in the project's list: E7; empty for one that has nothing to do with GPUs

    def findings(self, recipe: Recipe, setting: Setting) -> Iterator[Finding]:
        """What the rule reports about a file; nothing about a kind of file that it does not look at."""
        for each in self.check(recipe, setting) if recipe.kind in self.kinds else ():
            severity = each.severity or self.severity
            yield Finding(self.id, severity, each.line, each.message, each.fix, each.is_of_module)
