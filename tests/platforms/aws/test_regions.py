"""Which regions have an instance type."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from compat.facts import csv_files
from platforms.aws import tables as own
from platforms.aws.instances import GroupShape
from platforms.aws.regions import region_problem, regions_with

Group = Callable[..., GroupShape]


@pytest.mark.parametrize(("types", "region"), [("g6.xlarge", "us-east-1"), ("p5en.48xlarge", "us-west-1")])
def test_a_region_that_is_listed_with_the_type_is_fine(group: Group, types: str, region: str) -> None:
    assert region_problem(group(types), region) is None


def test_a_region_without_the_type_in_the_list_is_reported_with_those_that_have_it(group: Group) -> None:
    found = region_problem(group("g6e.xlarge"), "eu-west-1")
    assert found is not None
    assert found.reason == "the list of 2026-02-26 has no g6e in eu-west-1"
    assert "see whether it has g6e.xlarge by now" in found.fix
    assert "eu-central-1" in found.fix


def test_a_type_that_is_newer_than_the_list_is_unknown(group: Group) -> None:
    found = region_problem(group("g7.2xlarge"), "us-east-1")
    assert found is not None
    assert found.reason == "the list of 2026-02-26 has g7 in no region"


def test_a_region_that_no_table_has_is_reported_with_the_nearest(group: Group) -> None:
    found = region_problem(group("g6.xlarge"), "us-eats-1")
    assert found is not None
    assert found.reason == "no table has the region us-eats-1"
    assert found.fix.startswith("did you mean us-east-1")


def test_the_families_of_the_list_are_those_of_the_instance_types() -> None:
    families = {row["instance_type"].partition(".")[0] for row in csv_files.rows("ec2_gpu_instances")}
    listed = {family for row in own.rows("regions") for family in row["gpu_families"].split("|") if family}
    assert listed <= families
    assert {"g4dn", "g5", "g6", "g6e", "p4d", "p5"} <= listed
    assert regions_with("g3") == ("us-gov-west-1",)
