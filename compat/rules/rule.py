"""A rule: id, check and sources, and its text in TOML beside it. `__init__.py` lists all rules by hand."""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

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
class Text:
    """A rule in words, with cases as `check` takes them; the tests run each."""

    title: str
    says: str
    severity: Severity  # the worst that the rule can report
    of_pool: tuple[str, ...]  # the fields of a pool that it reads
    passing: Mapping[str, str]
    failing: Mapping[str, str]
    undecided: Mapping[str, str]


@dataclass(frozen=True)
class Rule:
    """One rule. With a need, it is one way to meet it; without one, its refusal is final."""

    id: str
    check: Check
    sources: tuple[str, ...]
    need: Need | None = None

    @cached_property
    def text(self) -> Text:
        """From the TOML file beside the check; reading it is left until somebody asks, as no verdict needs it."""
        file = Path(__file__).with_name(f"{self.id.removeprefix('R-').lower()}.toml")
        data = tomllib.loads(file.read_text(encoding="utf-8"))
        return Text(**data | {"severity": Severity[data["severity"].upper()], "of_pool": tuple(data["of_pool"])})


def as_stated(driver: DriverVersion) -> str:
    """The driver as the case writes it; empty if the case has none and the engine tries one."""
    return str(driver) if driver.given else ""


def this_one(driver: DriverVersion) -> str:
    """Addition to a sentence on a needed driver: the case's own, if stated."""
    return f"; this one is {driver}" if driver.given else ""
