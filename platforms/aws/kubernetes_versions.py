"""EKS support dates of Kubernetes versions."""

import datetime as dt
import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from compat.facts.rows import Origin, Row
from platforms.aws import tables

VERSION: Final = re.compile(r"1\.[1-9]\d", re.ASCII)  # EKS version format: 1.34


@dataclass(frozen=True, slots=True)
class KubernetesVersion:
    """A minor version on EKS. A date published nowhere is None: unknown.

    `standard_until` and `extended_until` are the first days without that support, in UTC.
    """

    name: str  # 1.34
    released: dt.date | None
    standard_until: dt.date | None
    extended_until: dt.date | None
    origin: Origin

    def has_ended(self, today: dt.date) -> bool:
        """Is it certain that EKS no longer supports it, at any price?"""
        return self.extended_until is not None and today >= self.extended_until

    def is_extended(self, today: dt.date) -> bool:
        """Is the cluster more expensive per hour, because standard support has ended?"""
        return self.standard_until is not None and today >= self.standard_until and not self.has_ended(today)


@cache
def known_versions() -> dict[str, KubernetesVersion]:
    """Versions in the table, oldest first."""
    return {row["kubernetes"]: _version(row) for row in tables.rows("eks_versions")}


def _version(row: Row) -> KubernetesVersion:
    released, standard, extended = (
        dt.date.fromisoformat(row[each]) if row[each] else None
        for each in ("released", "standard_until", "extended_until")
    )
    return KubernetesVersion(row["kubernetes"], released, standard, extended, Origin.of(row))


def supported_versions(today: dt.date) -> tuple[str, ...]:
    """Versions that EKS supports on that day, according to the table, oldest first."""
    return tuple(name for name, each in known_versions().items() if not each.has_ended(today))


def is_version(text: str) -> bool:
    """Does it have EKS's version format, `1.34`?"""
    return VERSION.fullmatch(text) is not None


def minor_of(version: str) -> int:
    """34 of `1.34`, for ordering versions."""
    return int(version.partition(".")[2])
