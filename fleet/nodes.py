"""One node as the scheduler sees it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from fleet.unknown import UNKNOWN, Unknown


@dataclass(frozen=True, slots=True)
class Node:
    """One node, empty: its labels, taints (Kubernetes JSON) and allocatable resources. Cordoned: it takes no pods.

    What stands in neither `labels` nor `allocatable` is not there, unless one of the last two fields leaves it open.
    """

    name: str
    pool: str
    labels: Mapping[str, str]
    taints: Sequence[Mapping[str, str]]
    allocatable: Mapping[str, Decimal]
    is_cordoned: bool = False
    open_labels: str | tuple[str, ...] | None = None  # labels with such a prefix may be there too, with any value
    is_amount_open: bool = False  # it may have any amount of other resources
    about: Mapping[str, range] = field(default_factory=dict)  # labels of which no more is known than a range
    variant: str = ""  # nodes of its pool with the same facts, where not all have the same

    @property
    def alike(self) -> str:
        """The nodes that have the same facts as this one, by name: its pool, or a part of it."""
        return self.variant or self.pool

    def label(self, key: str) -> str | Unknown | None:
        """Its value; None where the node has none."""
        is_open = self.open_labels is not None and key.startswith(self.open_labels)
        may_be_there = is_open or key in self.about
        return self.labels.get(key, UNKNOWN if may_be_there else None)

    def amount(self, name: str) -> Decimal | Unknown:
        """What it has of a resource."""
        return self.allocatable.get(name, UNKNOWN if self.is_amount_open else Decimal(0))
