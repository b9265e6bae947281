"""Which quota of an account a group takes its vCPUs from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat.facts import csv_files
from platforms.aws.instances import GroupShape
from platforms.aws.quotas import Market, needed, quota_of

Group = Callable[..., GroupShape]


@pytest.mark.parametrize(
    ("types", "nodes", "market", "expected"),
    [
        ("g6.xlarge", 4, Market.ON_DEMAND, "16 vCPUs of Running On-Demand G and VT instances (L-DB2E81BA)"),
        ("g6.xlarge g6.2xlarge", 4, Market.ON_DEMAND, "32 vCPUs of Running On-Demand G and VT instances (L-DB2E81BA)"),
        ("gr6.4xlarge", 1, Market.SPOT, "16 vCPUs of All G and VT Spot Instance Requests (L-3819A6DF)"),
        ("p4d.24xlarge", 2, Market.ON_DEMAND, "192 vCPUs of Running On-Demand P instances (L-417A185B)"),
        ("p3.2xlarge", 1, Market.SPOT, "8 vCPUs of All P Spot Instance Requests (L-7212CCBC)"),
        ("p5en.48xlarge", 1, Market.SPOT, "192 vCPUs of All P Spot Instance Requests (L-7212CCBC)"),
    ],
)
def test_a_group_needs_the_vcpus_of_its_largest_type(
    group: Group, types: str, nodes: int, market: Market, expected: str
) -> None:
    assert str(quota_of(group(*types.split()), nodes, market)) == expected


def test_groups_of_one_quota_are_added_up(group: Group) -> None:
    each = (("g6.xlarge", 2), ("p4d.24xlarge", 1), ("g6e.xlarge", 3))
    found = needed(quota_of(group(name), nodes, Market.ON_DEMAND) for name, nodes in each)
    assert [(quota.code, quota.vcpus) for quota in found] == [("L-DB2E81BA", 20), ("L-417A185B", 96)]


@pytest.mark.parametrize("market", Market)
def test_every_type_has_a_quota(group: Group, market: Market) -> None:
    rows = [row for row in csv_files.rows("ec2_gpu_instances") if row["gpu_vendor"] == "nvidia"]
    assert all(quota_of(group(row["instance_type"]), 1, market).code for row in rows)
