"""How long EKS supports a Kubernetes version."""

from __future__ import annotations

import datetime as dt
import re
from dataclasses import dataclass
from functools import cache
from typing import Final

from compat.facts.rows import Origin, Row
from platforms.aws import tables

VERSION: Final = re.compile(r"1\.[1-9]\d", re.ASCII)  # how EKS writes a version: 1.34


@dataclass(frozen=True, slots=True)
class KubernetesVersion:
    """A minor version on EKS. A date that no page states is None: not known.

    `standard_until` and `extended_until` are the days from which the version is without that support, in UTC.
    """

    name: str  # 1.34
    released: dt.date | None
    standard_until: dt.date | None
    extended_until: dt.date | None
    origin: Origin

    def has_ended(self, today: dt.date) -> bool:
        """Is it known that EKS does not support it any more, at no price?"""
        return self.extended_until is not None and today >= self.extended_until

    def is_extended(self, today: dt.date) -> bool:
        """Does the cluster cost more by the hour, because standard support has ended?"""
        return self.standard_until is not None and today >= self.standard_until and not self.has_ended(today)


@cache
def known_versions() -> dict[str, KubernetesVersion]:
    """The versions that a table has, oldest first."""
    return {row["kubernetes"]: _version(row) for row in tables.rows("eks_versions")}


def _version(row: Row) -> KubernetesVersion:
    released, standard, extended = (
        dt.date.fromisoformat(row[each]) if row[each] else None
        for each in ("released", "standard_until", "extended_until")
    )
    return KubernetesVersion(row["kubernetes"], released, standard, extended, Origin.of(row))


def supported_versions(today: dt.date) -> tuple[str, ...]:
    """Versions that EKS supports on that day, as far as a table says, oldest first."""
    return tuple(name for name, each in known_versions().items() if not each.has_ended(today))


def is_version(text: str) -> bool:
    """Is it written as EKS writes a version, `1.34`?"""
    return VERSION.fullmatch(text) is not None


def minor_of(version: str) -> int:
    """34 of `1.34`; versions of EKS have an order by it."""
    return int(version.partition(".")[2])
