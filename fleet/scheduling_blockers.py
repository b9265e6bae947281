"""What keeps a pod off a node, and what may: as data, and in the words of whoever reads it. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from fleet.quantities import written


@dataclass(frozen=True, slots=True)
class Misfit:
    """What is called the same everywhere: another node's name, a taint, a cordon."""

    why: str


@dataclass(frozen=True, slots=True)
class OtherLabel:
    """A label that the pod wants its node to have. `has` is its value there; of a range no more is known."""

    key: str
    wanted: object
    has: str | range | None


@dataclass(frozen=True, slots=True)
class NoTerm:
    """A node affinity of which no term matches; `terms` describes them all."""

    terms: str


@dataclass(frozen=True, slots=True)
class TooLittle:
    """A resource of which the pod requests more than the node has."""

    name: str
    requested: Decimal
    has: Decimal


@dataclass(frozen=True, slots=True)
class NoPods:
    """The node takes no pods at all."""


@dataclass(frozen=True, slots=True)
class Undescribed:
    """A fact of nodes that decides, and that nobody has described: `label KEY`, or the name of a resource."""

    what: str


Obstacle = Misfit | OtherLabel | NoTerm | TooLittle | NoPods


@dataclass(frozen=True, slots=True)
class Names:
    """What the parts of an obstacle are called. `affinity` may name the `{terms}`."""

    label: str
    node: str  # of the pool in question
    nodes: str
    affinity: str


CLUSTER: Final = Names("nodeSelector", "a node of the pool", "nodes", "its node affinity ({terms}) does not match")


def wording(found: Obstacle | Undescribed, names: Names = CLUSTER) -> str:
    """The obstacle, as part of a sentence that has named the pool."""
    match found:
        case Misfit():
            return found.why
        case OtherLabel():
            return f"{names.label} {found.key}={found.wanted}: the pool {_has(found.has)}"
        case NoTerm():
            return names.affinity.format(terms=found.terms)
        case TooLittle(name=name):
            requested, has = written(found.requested, name), written(found.has, name)
            return f"it requests {requested} {name}, but {names.node} has {has}"
        case NoPods():
            return f"{names.node} has no room for pods"
        case Undescribed():
            return f"the {found.what} of {names.nodes}"


def _has(value: str | range | None) -> str:
    if isinstance(value, range):
        return f"has between {value[0]} and {value[-1]}"
    return "has no such label" if value is None else f"has {value}"
