"""What a rule of the linter is: an id, the number of the mistake, sentences, a check. `index.py` lists them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from images.lint.model import Finding, Kind, Recipe, Role, Setting, Severity

Check = Callable[[Recipe, Setting], Iterator[Finding]]
DIGEST: Final = "sha256:" + "4" * 64  # of the examples
IMAGE_FILES: Final = frozenset({Kind.DOCKERFILE, Kind.DEFINITION})
ALL_FILES: Final = frozenset(Kind)


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
