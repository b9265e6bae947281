"""What instances cost."""

from __future__ import annotations

from decimal import Decimal

from platforms.aws.prices import price_of, term_usd


def test_a_price_is_shown_with_its_day() -> None:
    price = price_of("g6.xlarge")
    assert str(price) == "$0.8048/h (us-east-1, 2026-07-20)"


def test_a_term_costs_all_hours_of_its_weeks() -> None:
    price = price_of("g6.xlarge")
    assert price is not None
    assert term_usd(price, nodes=2, weeks=10) == Decimal("2704.13")


def test_a_type_without_a_price_is_not_known() -> None:
    assert price_of("g99.xlarge") is None
