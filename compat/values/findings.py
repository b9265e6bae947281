"""Findings of rules, and the answer made of them: verdict, findings, remedy."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from operator import attrgetter
from typing import Self

from packaging.version import Version

from compat.values.fact import Fact
from compat.values.versions import ComputeCapability, DriverVersion


class _Ranked(StrEnum):
    """Ordered words. `rank` counts from the best: of several words, the one with the highest rank wins."""

    rank: int

    def __new__(cls, value: str, rank: int) -> Self:
        member = str.__new__(cls, value)
        member._value_ = value
        member.rank = rank
        return member


class Verdict(_Ranked):
    """The four answers."""

    COMPATIBLE = "compatible", 0
    WITH_WARNING = "compatible_with_warning", 1
    UNKNOWN = "unknown", 2
    INCOMPATIBLE = "incompatible", 3

    @property
    def runs(self) -> bool:
        return self is Verdict.COMPATIBLE or self is Verdict.WITH_WARNING


class Severity(_Ranked):
    """Effect of a finding on the whole: it holds, holds with a limit, cannot be decided, does not hold."""

    NOTE = "note", 0
    WARN = "warn", 1
    UNKNOWN = "unknown", 2
    REFUSE = "refuse", 3


@dataclass(frozen=True, slots=True)
class Change:
    """One field of a case, as it is and as it would have to be. `from_` is empty if nothing was stated."""

    field: str
    from_: str
    to: str


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of the case, other than the driver and the image's content, and the value it needs."""

    field: str  # kernel_module, container_toolkit, cuda_compat, image_glibc, host, ami_release
    to: str | Version


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of the container, and the value it needs; empty: none."""

    name: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class GpuSpan:
    """Compute capabilities of suitable GPUs; without `highest` all newer ones."""

    lowest: ComputeCapability
    highest: ComputeCapability | None = None


Fix = DriverVersion | Setting | Variable | GpuSpan


@dataclass(frozen=True, slots=True)
class Finding:
    """Report of one rule. `fixes` would satisfy it, each alone, cheapest first."""

    rule: str
    severity: Severity
    message: str
    fact: Fact
    places: tuple[str, ...] = ()
    fixes: tuple[Fix, ...] = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class Alternative:
    """A solution: what to change, in words and as data; all changes together."""

    text: str
    changes: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Remedy:
    """What to change, as instructions for people and as data; all changes together.

    `text` describes every way, `changes` are those of the first; `otherwise` holds the others.
    """

    text: str
    changes: tuple[Change, ...] = ()
    otherwise: tuple[Alternative, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """The verdict on one case, its reasons, and what would change it."""

    id: str
    verdict: Verdict
    findings: tuple[Finding, ...]
    remedy: Remedy | None = None
    basis: str = ""  # what the image was judged by, to be read behind "judged by"


def note(rule: str, message: str, fact: Fact) -> Finding:
    return Finding(rule, Severity.NOTE, message, fact)


def warn(rule: str, message: str, fact: Fact) -> Finding:
    return Finding(rule, Severity.WARN, message, fact)


def unknown(rule: str, message: str, fact: Fact) -> Finding:
    """The message names the missing fact, and how to get it."""
    return Finding(rule, Severity.UNKNOWN, message, fact)


def refuse(rule: str, message: str, fact: Fact, *fixes: Fix) -> Finding:
    """`fixes` are changes that would satisfy the rule, each alone, cheapest first."""
    return Finding(rule, Severity.REFUSE, message, fact, (), fixes)


def worst_first(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """In order of severity; of equal ones in the order of the rules."""
    return tuple(sorted(findings, key=attrgetter("severity.rank"), reverse=True))
