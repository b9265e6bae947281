"""Resource quantities of Kubernetes: 500m, 2Gi, 8.

Not `kubernetes.utils.parse_quantity`: it comes with the whole client, which takes a second to import.
"""

import contextlib
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from fleet.unknown import UNKNOWN, Unknown

Amounts = dict[str, Decimal | Unknown]


class QuantityError(ValueError):
    """`given` is not a quantity."""

    def __init__(self, given: str) -> None:
        super().__init__(f'"{given}" {NO_QUANTITY}')
        self.given = given


NO_QUANTITY: Final = "is not a Kubernetes quantity such as 500m or 2Gi"


def quantity(text: Any) -> Decimal | Unknown:
    """A Kubernetes quantity as a number: "500m", "2Gi", 8. UNKNOWN stays so; QuantityError for anything else."""
    if isinstance(text, Unknown):
        return text
    match = _QUANTITY.fullmatch(str(text).strip())
    if match is None:
        raise QuantityError(str(text))
    return Decimal(match["number"]).scaleb(int(match["exponent"] or 0)) * _SUFFIXES[match["suffix"] or ""]


def known_amounts(given: Mapping[str, Any]) -> dict[str, Decimal]:
    """The amounts that are known quantities."""
    found = {}
    for name, text in given.items():
        with contextlib.suppress(ValueError):
            if isinstance(amount := quantity(text), Decimal):
                found[name] = amount
    return found


_SUFFIXES: Final = {
    "": Decimal(1),
    **{unit: Decimal(1000) ** power for power, unit in enumerate(("k", "M", "G", "T", "P", "E"), start=1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", start=1)},
    "m": Decimal("0.001"),
    "u": Decimal("0.000001"),
    "n": Decimal("0.000000001"),
}
# An exponent of three digits is beyond every amount, and beyond what Decimal can add.
_QUANTITY: Final = re.compile(
    r"(?P<number>[+-]?(?:[0-9]{1,99}\.?[0-9]{0,99}|\.[0-9]{1,99}))"
    r"(?:(?P<suffix>[KMGTPE]i|[numkMGTPE])|[eE](?P<exponent>[+-]?[0-9]{1,2}))?"
)


def added(left: Amounts, right: Amounts) -> Amounts:
    """Sum of both."""
    return _each(left, right, lambda one, other: one + other)


def larger(left: Amounts, right: Amounts) -> Amounts:
    """The larger of the two amounts of each resource."""
    return _each(left, right, max)


def _each(left: Amounts, right: Amounts, how: Callable[[Decimal, Decimal], Decimal]) -> Amounts:
    def both(name: str) -> Decimal | Unknown:
        one, other = left.get(name, Decimal(0)), right.get(name, Decimal(0))
        return UNKNOWN if one is UNKNOWN or other is UNKNOWN else how(one, other)

    return {name: both(name) for name in {**left, **right}}


def written(amount: Decimal | Unknown, name: str) -> str:
    """An amount of the named resource, for people: bytes as Mi or Gi."""
    if isinstance(amount, Decimal) and name in _BYTES and amount.is_finite() and amount >= _MI:
        unit, of = ("Gi", _MI * 1024) if amount >= _MI * 1024 else ("Mi", _MI)
        return written(Decimal(f"{amount / of:.2f}"), "") + unit
    return (
        f"{amount:f}".rstrip("0").rstrip(".") if isinstance(amount, Decimal) and "." in f"{amount:f}" else f"{amount}"
    )


_BYTES: Final = frozenset({"memory", "ephemeral-storage"})
_MI: Final = Decimal(1024**2)
