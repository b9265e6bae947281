"""How long EKS supports a Kubernetes version."""

from __future__ import annotations

import datetime as dt

from platforms.aws.kubernetes_versions import known_versions, supported_versions


def test_support_ends_on_the_day_that_the_page_names() -> None:
    version = known_versions()["1.31"]
    assert not version.has_ended(dt.date(2026, 11, 25))
    assert version.has_ended(dt.date(2026, 11, 26))


def test_a_version_costs_more_between_the_two_ends() -> None:
    version = known_versions()["1.31"]
    days = [dt.date(2025, 11, 25), dt.date(2025, 11, 26), dt.date(2026, 11, 25), dt.date(2026, 11, 26)]
    assert [version.is_extended(day) for day in days] == [False, True, True, False]


def test_a_version_without_dates_is_neither_ended_nor_extended() -> None:
    version = known_versions()["1.37"]
    assert version.extended_until is None
    assert not version.has_ended(dt.date(2099, 1, 1))
    assert not version.is_extended(dt.date(2099, 1, 1))


def test_versions_that_are_supported_are_named_oldest_first() -> None:
    assert supported_versions(dt.date(2026, 11, 23)) == ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36", "1.37")
