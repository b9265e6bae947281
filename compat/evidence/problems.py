"""The result of reading a part of a case: candidates, how they were read, what stays open, what cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from compat.evidence.case import Problem
from compat.values.model import THE_CASE, Fact, Finding, Severity
from compat.values.versions import VersionError

Read = TypeVar("Read")
Value = TypeVar("Value")

AS_GIVEN = Fact("as given", THE_CASE, "")
UNREAD = "CASE"  # in place of a rule where a field, or a whole case, cannot be read
_ABSENT = Fact("a field that cannot be read counts as one that is not given", THE_CASE, "")
_SHOWN = 80  # characters of a value in a message


@dataclass(frozen=True, slots=True)
class Axis:
    """An open field with more than one candidate; `missing` says what would settle it."""

    field: str
    missing: str


@dataclass(frozen=True, slots=True)
class Reading(Generic[Value]):
    """Candidates that a part of a case may mean; none where there are problems. Fields passed over were not read."""

    values: tuple[Value, ...]
    notes: tuple[Finding, ...] = ()
    open: tuple[Axis, ...] = ()
    problems: tuple[Problem, ...] = ()
    passed_over: tuple[str, ...] = ()


class Reader:
    """Collects while fields are read, so that a user sees all problems at once.

    A lenient reader notes a field that it cannot read, and continues as if the field were absent. A stack file is read
    strictly: there it is a mistake.
    """

    def __init__(self, *, lenient: bool = False) -> None:
        self._is_lenient = lenient
        self.problems: list[Problem] = []
        self.passed_over: list[Problem] = []
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

    def problem(self, field: str, text: str, reason: str, fix: str = "", *, is_essential: bool = False) -> None:
        """Note what cannot be read. Without an essential field, such as the GPU, there is no answer."""
        found = Problem(field, text[:_SHOWN], reason, fix)
        if is_essential or not self._is_lenient:
            self.problems.append(found)
            return
        self.passed_over.append(found)
        self.notes.append(Finding(UNREAD, Severity.NOTE, f"{found}: it counts as not given", _ABSENT))

    def essential(self) -> None:
        """The fields that were passed over were essential: there is no answer without them."""
        self.problems += self.passed_over

    def done(self, values: tuple[Value, ...]) -> Reading[Value]:
        passed_over = tuple(each.field for each in self.passed_over)
        return Reading(
            () if self.problems else values, tuple(self.notes), tuple(self.open), tuple(self.problems), passed_over
        )
