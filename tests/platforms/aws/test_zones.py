"""Zones that have an instance type, and the subnets of a group in them."""

from __future__ import annotations

import pytest

from platforms.aws.zones import NoZoneError, Offers, check_zones, subnets_in

OFFERS = Offers(
    frozenset({("g6e.2xlarge", "us-east-1a"), ("g6e.2xlarge", "us-east-1b"), ("g7e.2xlarge", "us-east-1a")})
)
ZONES = ("us-east-1a", "us-east-1b", "us-east-1f")


def test_a_group_is_started_in_the_zones_that_have_one_of_its_types() -> None:
    assert check_zones("l40s", ("g6e.2xlarge",), ZONES, "us-east-1", OFFERS) == ("us-east-1a", "us-east-1b")
    assert check_zones("new", ("g7e.2xlarge", "g6e.2xlarge"), ZONES[1:], "us-east-1", OFFERS) == ("us-east-1b",)


def test_a_group_without_such_a_zone_is_refused_with_the_zones_that_have_its_type() -> None:
    with pytest.raises(NoZoneError, match=r"pool new: AWS has g7e\.2xlarge in us-east-1a, and in none of .*us-east-1b"):
        check_zones("new", ("g7e.2xlarge",), ("us-east-1b",), "us-east-1", OFFERS)


def test_a_region_without_the_type_is_named() -> None:
    with pytest.raises(NoZoneError, match=r"pool old: us-east-1 has no p2\.xlarge: take another"):
        check_zones("old", ("p2.xlarge",), ZONES, "us-east-1", OFFERS)


def test_subnets_of_other_zones_are_left_out() -> None:
    subnets = ("subnet-a", "subnet-b", "subnet-f")
    assert subnets_in(("us-east-1a", "us-east-1f"), subnets, ZONES) == ["subnet-a", "subnet-f"]
