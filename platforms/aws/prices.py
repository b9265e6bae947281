"""Instance prices from a dated table: on demand, Linux, US East (N. Virginia)."""

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from platforms.aws import tables

REGION: Final = "us-east-1"  # the only one in the table
HOURS_PER_WEEK: Final = 168


@dataclass(frozen=True, slots=True)
class Price:
    """Price of an instance type on the table's date."""

    usd_per_hour: Decimal
    priced_on: dt.date
    source: str

    def __str__(self) -> str:
        return f"${self.usd_per_hour.normalize():f}/h ({REGION}, {self.priced_on})"


def price_of(instance_type: str) -> Price | None:
    """None if the table has no price."""
    row = tables.by_first_column("ec2_prices").get(instance_type)
    if row is None:
        return None
    return Price(Decimal(row["usd_per_hour_us_east_1"]), dt.date.fromisoformat(row["priced_on"]), row["source"])


def term_usd(price: Price, nodes: int, weeks: int) -> Decimal:
    """Cost of nodes that run for a whole term, to the cent."""
    return (price.usd_per_hour * nodes * weeks * HOURS_PER_WEEK).quantize(Decimal("1.00"))
