"""Pools: nodes that are alike, and which pools a workload may land on."""

from __future__ import annotations

from pathlib import Path

import pytest
from rows import each_row

from compat import Case, check_on
from compat.values.versions import DriverVersion
from fleet.pools import Room, alike, may_land
from settings.fleet import pools_gpus, usages
from settings.reading import load_stack

MIXED = Path(__file__).parents[1] / "stacks" / "Pulumi.mixed.yaml"


def test_nodes_with_facts_of_their_own_are_parts_of_their_pool_named_after_them() -> None:
    facts = {"n02": "new", "n03": "other", "n04": "new"}
    found = list(alike("gtx", "old", ["n01", "n02", "n03", "n04"], lambda node: facts.get(node, "old")))
    assert found == [
        ("gtx", ("n01",), "old"),
        ("gtx (n02, n04)", ("n02", "n04"), "new"),
        ("gtx (n03)", ("n03",), "other"),
    ]


@each_row(
    ("named", "requested", "lands"),
    [
        ((), Room(2), True),
        ((), Room(3), False),
        (("gtx",), Room(2), True),
        (("gtx",), Room(3), False),
        (("rtx",), Room(), False),
        (("rtx", "gtx"), Room(), True),
        ((), Room(0, cpu=8.5), False),
        ((), Room(0, cpu=8, memory_gib=64), True),
        ((), Room(0, memory_gib=1000), True),  # what the nodes have is not known
    ],
)
def test_a_workload_lands_on_pools_that_it_names_and_that_have_room(
    named: tuple[str, ...], requested: Room, lands: bool
) -> None:
    assert may_land("gtx", Room(2, cpu=8), named, requested) is lands


def test_a_job_that_names_no_pool_uses_its_image_where_it_has_room() -> None:
    stack = load_stack(MIXED)
    job = stack.jobs[0].model_copy(update={"pool": None, "pools": None, "gpus": 1})
    small = stack.fleet.pools[1].model_copy(update={"memory_gib": 1})
    fleet = stack.fleet.model_copy(update={"pools": (stack.fleet.pools[0], small, stack.fleet.pools[2])})
    (usage,) = usages(stack.model_copy(update={"hubs": (), "jobs": (job,), "fleet": fleet}))
    assert usage.pools == ("rtx2080ti",)


def test_a_job_uses_its_image_on_the_pool_that_it_names_also_where_memory_is_short() -> None:
    stack = load_stack(MIXED)
    first = stack.fleet.pool("rtx2080ti").model_copy(update={"memory_gib": 1})
    job = stack.jobs[0].model_copy(update={"pool": first.name, "pools": None, "gpus": 1})
    fleet = stack.fleet.model_copy(update={"pools": (first,)})
    (usage,) = usages(stack.model_copy(update={"hubs": (), "jobs": (job,), "fleet": fleet}))
    assert usage.pools == (first.name,)


@pytest.mark.parametrize("written", [("418.88", "418.88.00"), ("418.88.00", "418.88")])
def test_each_pool_is_answered_with_its_driver_as_it_is_written(written: tuple[str, str]) -> None:
    """418.88 and 418.88.00 are one driver, and both pools have the same GPU."""
    pool = load_stack(MIXED).fleet.pool("gtx1080ti").model_copy(update={"node_overrides": ()})
    pools = [pool.model_copy(update={"name": text, "driver": DriverVersion.parse(text)}) for text in written]
    found = pools_gpus(pools)
    for text in written:
        host = found[text].host
        assert host is not None
        assert host.shown.driver == text
        (message,) = [each.message for each in check_on(Case(cuda="10.2"), host).findings if each.rule == "R-BACK"]
        assert f"; this one is {text}. " in message
