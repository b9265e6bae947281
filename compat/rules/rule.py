"""A rule: id, sentence, sources and check. `__init__.py` lists all rules by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from compat.values.findings import Finding, Severity
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import DriverVersion

Check = Callable[[ImageFacts, PoolFacts], tuple[Finding, ...]]


class Need(StrEnum):
    """A condition that can be met in several ways. A need fails when every way fails."""

    CUDA = "the driver reaches the image's CUDA"
    CODE = "there is code for the GPU"


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. With a need, it is one way to meet it; without one, its refusal is final.

    `passing`, `failing` and `undecided` are cases as `check` takes them; the tests run each.
    """

    id: str
    title: str
    says: str
    sources: tuple[str, ...]
    severity: Severity  # the worst it can report
    check: Check
    passing: Mapping[str, str]
    failing: Mapping[str, str]
    undecided: Mapping[str, str]
    of_pool: tuple[str, ...]  # the fields of a pool that the check reads
    need: Need | None = None


def as_stated(driver: DriverVersion) -> str:
    """The driver as the case writes it; empty if the case has none and the engine tries one."""
    return str(driver) if driver.given else ""


def this_one(driver: DriverVersion) -> str:
    """Addition to a sentence on a needed driver: the case's own, if stated."""
    return f"; this one is {driver}" if driver.given else ""
