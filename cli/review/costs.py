"""What a change costs, where prices are known: AWS nodes by instance type, on demand, in US East."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from cli.engine_events import Step, Stream
from cli.engine_values import mapping, texts, whole

HOURS_PER_MONTH: Final = 730
_NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
_INSTANCE: Final = "aws:ec2/instance:Instance"

# US dollars an hour for an instance type, the day of the price and its source; None if unknown.
Prices = Callable[[str], "Price | None"]
_Nodes = tuple[str, int, int]  # instance type, fewest and most nodes


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
    was, now = _monthly(old, prices), _monthly(new, prices)
    least, most = (now[0] - was[0], now[1] - was[1]) if was and now else (None, None)
    used = tuple(price for nodes in (old, new) if nodes and (price := prices(nodes[0])))
    return Cost(step.name, _text(old), _text(new), least, most, used)


def _monthly(nodes: _Nodes | None, prices: Prices) -> tuple[float, float] | None:
    """Unknown for a group of several instance types: it depends on what AWS picks."""
    if nodes is None:
        return 0.0, 0.0
    kind, least, most = nodes
    monthly = price.usd_per_hour * HOURS_PER_MONTH if (price := prices(kind)) else None
    return None if monthly is None else (monthly * least, monthly * most)


def _nodes(kind: str, inputs: Mapping[str, Any] | None) -> _Nodes | None:
    if inputs is None or kind not in {_NODE_GROUP, _INSTANCE}:
        return None
    if kind == _INSTANCE:
        return "".join(texts([inputs.get("instanceType")])), 1, 1
    scaling = mapping(inputs.get("scalingConfig"))
    least, most = (whole(scaling.get(key)) or 0 for key in ("minSize", "maxSize"))
    return ", ".join(texts(inputs.get("instanceTypes"))), least, most


def _text(nodes: _Nodes | None) -> str:
    if nodes is None:
        return ""
    kind, least, most = nodes
    return f"{least}–{most} × {kind or '?'}" if least != most else f"{most} × {kind or '?'}"  # noqa: RUF001
