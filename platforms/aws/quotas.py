"""The vCPU quota a group uses, and the vCPUs at its maximum size. New accounts often have 0."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase

from compat.facts.rows import Origin
from platforms.aws import tables
from platforms.aws.instances import GroupShape


class Market(StrEnum):
    """How a group pays for its instances, named as in EKS, in lower case."""

    ON_DEMAND = "on_demand"
    SPOT = "spot"


@dataclass(frozen=True, slots=True)
class Quota:
    """vCPUs that must be free in a quota."""

    name: str  # Running On-Demand G and VT instances
    code: str  # L-DB2E81BA
    vcpus: int
    origin: Origin

    def __str__(self) -> str:
        return f"{self.vcpus} vCPUs of {self.name} ({self.code})"


def quota_of(shape: GroupShape, nodes: int, market: Market) -> Quota:
    """Quota for this many nodes, each of the largest type: EC2's choice is not known in advance."""
    vcpus = max(each.vcpu for each in shape.types) * nodes
    row = next(
        row
        for row in tables.rows("quotas")
        if row["market"] == market and fnmatchcase(shape.types[0].family, row["families"])
    )
    return Quota(row["name"], row["code"], vcpus, Origin.of(row))


def needed(quotas: Iterable[Quota]) -> tuple[Quota, ...]:
    """Quotas of all groups together, each once."""
    found: dict[tuple[str, str], Quota] = {}
    for each in quotas:
        key = (each.name, each.code)
        found[key] = replace(each, vcpus=each.vcpus + found[key].vcpus) if key in found else each
    return tuple(found.values())
