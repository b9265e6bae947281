"""What a change costs, where prices are known: AWS nodes by instance type, on demand, in US East."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cli.review.stream import Step, Stream
from cli.review.values import mapping, texts, whole

HOURS_PER_MONTH: Final = 730
_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_INSTANCE: Final = "aws:ec2/instance:Instance"

# US dollars an hour for an instance type, the day of the price and its source; None if unknown.
Prices = Callable[[str], "Price | None"]


@dataclass(frozen=True, slots=True)
class Price:
    """On demand, Linux, us-east-1."""

    usd_per_hour: float
    date: str
    source: str


@dataclass(frozen=True, slots=True)
class Cost:
    """One resource. Dollars a month for its fewest and most nodes; None: a price is missing."""

    name: str
    before: str
    after: str
    least_usd: float | None
    most_usd: float | None
    prices: tuple[Price, ...] = ()  # the prices used


@dataclass(frozen=True, slots=True)
class _Nodes:
    type: str
    least: int
    most: int

    def __str__(self) -> str:
        number = f"{self.least}–{self.most}" if self.least != self.most else f"{self.most}"  # noqa: RUF001
        return f"{number} × {self.type or '?'}"  # noqa: RUF001


def costs_of(stream: Stream, prices: Prices) -> tuple[Cost, ...]:
    """Resources whose cost changes, as far as their size shows."""
    return tuple(cost for step in stream.changed if (cost := _cost(step, prices)))


def _cost(step: Step, prices: Prices) -> Cost | None:
    if step.type not in {_NODE_GROUP, _INSTANCE}:
        return None
    old, new = _nodes(step.type, step.old), _nodes(step.type, step.new)
    if old == new:
        return None
    there = [nodes for nodes in (old, new) if nodes]
    used = [price for nodes in there if (price := prices(nodes.type))]
    least = most = None
    if len(used) == len(there):  # unknown for a group of several instance types: it depends on what AWS picks
        monthly = [(price.usd_per_hour * HOURS_PER_MONTH) for price in used]
        signs = [1 if nodes is new else -1 for nodes in there]
        least = sum(sign * each * nodes.least for sign, each, nodes in zip(signs, monthly, there, strict=True))
        most = sum(sign * each * nodes.most for sign, each, nodes in zip(signs, monthly, there, strict=True))
    return Cost(step.name, str(old or ""), str(new or ""), least, most, tuple(used))


def _nodes(kind: str, inputs: Mapping[str, Any] | None) -> _Nodes | None:
    if inputs is None:
        return None
    if kind == _INSTANCE:
        return _Nodes("".join(texts([inputs.get("instanceType")])), 1, 1)
    scaling = mapping(inputs.get("scalingConfig"))
    least, most = (whole(scaling.get(key)) or 0 for key in ("minSize", "maxSize"))
    return _Nodes(", ".join(texts(inputs.get("instanceTypes"))), least, most)
