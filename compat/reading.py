"""What reading a part of a case gives: candidates, how they were read, what stays open, and what cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from compat.case import Problem
from compat.model import Fact, Finding
from compat.versions import VersionError

Read = TypeVar("Read")
Value = TypeVar("Value")

AS_GIVEN = Fact("as given", "the case", "")
_SHOWN = 80  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Axis:
    """An open field with more than one candidate; `missing` says what would settle it."""

    field: str
    missing: str


@dataclass(frozen=True, slots=True)
class Reading(Generic[Value]):
    """Candidates that a part of a case may mean; none where there are problems."""

    values: tuple[Value, ...]
    notes: tuple[Finding, ...] = ()
    open: tuple[Axis, ...] = ()
    problems: tuple[Problem, ...] = ()


class Reader:
    """Collects while fields are read, so that a user sees all problems at once."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.notes: list[Finding] = []
        self.open: list[Axis] = []

    def read(self, field: str, text: str, read: Callable[[str], Read]) -> Read | None:
        """The field by its reader; None for an empty one and, with the problem noted, for one that cannot be read."""
        if not text:
            return None
        try:
            return read(text)
        except VersionError as error:
            self.problem(field, text, error.reason)
            return None

    def one_of(self, field: str, text: str, allowed: tuple[str, ...]) -> str:
        """The field in lower-case letters, one of the words allowed, or empty."""
        word = text.lower()
        if word and word not in allowed:
            self.problem(field, text, f"is not one of {', '.join(allowed)}")
            return ""
        return word

    def problem(self, field: str, text: str, reason: str, fix: str = "") -> None:
        self.problems.append(Problem(field, text[:_SHOWN], reason, fix))

    def done(self, values: tuple[Value, ...]) -> Reading[Value]:
        return Reading(() if self.problems else values, tuple(self.notes), tuple(self.open), tuple(self.problems))
