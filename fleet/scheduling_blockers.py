"""What keeps, or may keep, a pod off a node: as data, and worded for the reader. Pure."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from fleet.quantities import written


@dataclass(frozen=True, slots=True)
class OtherBlocker:
    """A reason with one name on all platforms: another node's name, a taint, a cordon."""

    why: str


@dataclass(frozen=True, slots=True)
class LabelMismatch:
    """A label that the pod requires of its node. `has` is the node's value, possibly only a range."""

    key: str
    wanted: object
    has: str | range | None


@dataclass(frozen=True, slots=True)
class AffinityMismatch:
    """A node affinity without a matching term; `terms` describes all terms."""

    terms: str


@dataclass(frozen=True, slots=True)
class InsufficientResource:
    """The pod requests more of a resource than the node has."""

    name: str
    requested: Decimal
    has: Decimal


@dataclass(frozen=True, slots=True)
class NoPods:
    """The node takes no pods at all."""


@dataclass(frozen=True, slots=True)
class Undescribed:
    """A deciding node fact without a description: `label KEY`, or the name of a resource."""

    what: str


SchedulingBlocker = OtherBlocker | LabelMismatch | AffinityMismatch | InsufficientResource | NoPods


@dataclass(frozen=True, slots=True)
class Names:
    """Names for the parts of a blocker. `affinity` may contain `{terms}`."""

    label: str
    node: str  # of the pool in question
    nodes: str
    affinity: str


CLUSTER: Final = Names("nodeSelector", "a node of the pool", "nodes", "its node affinity ({terms}) does not match")


def wording(found: SchedulingBlocker | Undescribed, names: Names = CLUSTER) -> str:
    """The blocker as part of a sentence that names the pool."""
    match found:
        case OtherBlocker():
            return found.why
        case LabelMismatch():
            return f"{names.label} {found.key}={found.wanted}: the pool {_has(found.has)}"
        case AffinityMismatch():
            return names.affinity.format(terms=found.terms)
        case InsufficientResource(name=name):
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
