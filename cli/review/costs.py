"""What a change costs, where prices are known: AWS nodes by instance type, on demand, in US East."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from cli.engine_values import mapping, texts, whole
from cli.review.stream import Step, Stream

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
    old, new = _nodes(step.type, step.old), _nodes(step.type, step.new)
    if old == new:
        return None
    sides = [(sign, *nodes) for sign, nodes in ((-1, old), (1, new)) if nodes]
    used = [price for _, kind, _, _ in sides if (price := prices(kind))]
    cost = Cost(step.name, _text(old), _text(new), None, None, tuple(used))
    if len(used) < len(sides):  # unknown for a group of several instance types: it depends on what AWS picks
        return cost
    monthly = [(price.usd_per_hour * HOURS_PER_MONTH, side) for price, side in zip(used, sides, strict=True)]
    return replace(
        cost,
        least_usd=sum(sign * usd * least for usd, (sign, _, least, _) in monthly),
        most_usd=sum(sign * usd * most for usd, (sign, _, _, most) in monthly),
    )


def _nodes(kind: str, inputs: Mapping[str, Any] | None) -> tuple[str, int, int] | None:
    """Instance type, fewest and most nodes; None for anything else."""
    if inputs is None or kind not in {_NODE_GROUP, _INSTANCE}:
        return None
    if kind == _INSTANCE:
        return "".join(texts([inputs.get("instanceType")])), 1, 1
    scaling = mapping(inputs.get("scalingConfig"))
    least, most = (whole(scaling.get(key)) or 0 for key in ("minSize", "maxSize"))
    return ", ".join(texts(inputs.get("instanceTypes"))), least, most


def _text(nodes: tuple[str, int, int] | None) -> str:
    if nodes is None:
        return ""
    kind, least, most = nodes
    return f"{least}–{most} × {kind or '?'}" if least != most else f"{most} × {kind or '?'}"  # noqa: RUF001
