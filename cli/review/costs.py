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


def costs_of(stream: Stream, prices: Prices) -> tuple[Cost, ...]:
    """Resources whose cost changes, as far as their size shows."""
    return tuple(cost for step in stream.changed if (cost := _cost(step, prices)))


def _cost(step: Step, prices: Prices) -> Cost | None:
    if step.type not in {_NODE_GROUP, _INSTANCE}:
        return None
    old, new = _nodes(step.type, step.old), _nodes(step.type, step.new)
    if old == new:
        return None
    used = tuple(price for nodes in (old, new) if nodes and (price := prices(nodes[0])))
    return Cost(step.name, _text(old), _text(new), _delta(old, new, prices, 1), _delta(old, new, prices, 2), used)


_Nodes = tuple[str, int, int]  # instance type, fewest and most nodes


def _nodes(kind: str, inputs: Mapping[str, Any] | None) -> _Nodes | None:
    if inputs is None:
        return None
    if kind == _INSTANCE:
        return next(((name, 1, 1) for name in texts([inputs.get("instanceType")])), ("", 1, 1))
    scaling = mapping(inputs.get("scalingConfig"))
    types = texts(inputs.get("instanceTypes"))
    least, most = whole(scaling.get("minSize")) or 0, whole(scaling.get("maxSize")) or 0
    return ", ".join(types), least, most


def _text(nodes: _Nodes | None) -> str:
    if nodes is None:
        return ""
    kind, least, most = nodes
    return f"{least}–{most} × {kind or '?'}" if least != most else f"{most} × {kind or '?'}"  # noqa: RUF001


def _delta(old: _Nodes | None, new: _Nodes | None, prices: Prices, index: int) -> float | None:
    amounts = [0.0 if nodes is None else _monthly(nodes, prices, index) for nodes in (old, new)]
    return None if None in amounts else (amounts[1] or 0) - (amounts[0] or 0)


def _monthly(nodes: _Nodes, prices: Prices, index: int) -> float | None:
    """Unknown for a group of several instance types: it depends on what AWS picks."""
    price = prices(nodes[0])
    return None if price is None else price.usd_per_hour * HOURS_PER_MONTH * (nodes[1] if index == 1 else nodes[2])
