"""Type of a linter rule: a check, and beside it in TOML its sentences and two examples. `index.py` lists all rules."""

import tomllib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from imaging.lint.recipe import Finding, Kind, LintContext, Recipe, Role, Severity, Word

DIGEST: Final = "sha256:" + "4" * 64  # of the examples


@dataclass(frozen=True, slots=True)
class Mistake:
    """A check's result at one line: the parts of a finding beyond its rule."""

    at: int | Word  # a line of the file, or a word, which may be in an environment file
    message: str
    fix: str
    severity: Severity | None = None  # None: the rule's own
    is_of_module: bool = False  # an environment module that the file loads

    @property
    def line(self) -> int:
        return self.at.line if isinstance(self.at, Word) else self.at


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
    kinds: frozenset[Kind]
    number: str = ""  # of the mistake in the project's list: E7; empty for one that is not there

    def findings(self, recipe: Recipe, context: LintContext) -> Iterator[Finding]:
        """The rule's findings for a file; none for kinds of file that it does not check."""
        for each in self.check(recipe, context) if recipe.kind in self.kinds else ():
            severity = each.severity or self.severity
            path = each.at.path if isinstance(each.at, Word) else ""
            yield Finding(self.id, severity, each.line, each.message, each.fix, each.is_of_module, path)


def load_rule(check: Check) -> Rule:
    """The rule of a module's check: its id is the module's name, the rest is in the TOML file of that name."""
    name = check.__module__.rpartition(".")[2]
    data = tomllib.loads(Path(__file__).with_name(f"{name}.toml").read_text(encoding="utf-8"))
    data |= {
        "id": f"D-{name.upper()}",
        "check": check,
        "sources": tuple(data["sources"]),
        "severity": Severity(data["severity"]),
        "kinds": frozenset(map(Kind, data["kinds"])),
        "passing": _example(**data["passing"]),
        "failing": _example(**data["failing"]),
    }
    return Rule(**data)


def _example(text: str, kind: str = "dockerfile", role: str = "application", **rest: bool) -> Example:
    return Example(text.replace("sha256:444…", DIGEST), Kind(kind), Role(role), **rest)
