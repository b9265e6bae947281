"""The comment about nodes that differ from their pool, workloads on several pools, and nodes without GPUs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from cli.engine_events import read_stream
from cli.review.document import Review, Sources, review_of
from cli.review.markdown import review_markdown

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here
import previews
from previews import HUB, IMAGE, JOB, POOL, step
from test_promises import TODAY

NODES = ("n01", "n02", "n03")
OLD = previews.pool("rtx", nodes=NODES)
COURSE = {"name": "ml", "title": "ML", "seats": 30, "profiles": ["a"]}
USERS = previews.hub(previews.profile("a", "rtx"), courses=[COURSE])
STAYS = step(HUB, "datahub", USERS, USERS)
CUDA_12 = previews.image("torch==2.4.0+cu124", cuda=["12.4"])
CUDA_10 = previews.image("torch==1.7.1+cu101", cuda=["10.1"])


def review(*events: previews.Event, **more: Any) -> Review:
    return review_of(
        read_stream(previews.stream(*events, **more)), None, Sources(lambda *_: None, lambda _: None, TODAY)
    )


def markdown(*events: previews.Event, **more: Any) -> str:
    return review_markdown(review(*events, **more), TODAY)


def first(text: str) -> str:
    return text.splitlines()[1].removeprefix("### ")


def test_a_node_whose_declared_driver_does_not_change_need_not_restart() -> None:
    old = {**OLD, "node_drivers": {"n02": "580.95.05"}}
    text = markdown(step(POOL, "rtx", old, {**old, "labels": {"example.edu/row": "b"}}), STAYS)
    assert "restart" not in first(text)


def test_an_image_that_stops_running_on_one_node_is_a_cell_with_its_name() -> None:
    ml = step(IMAGE, "ml", CUDA_12, CUDA_12)
    old = previews.pool("rtx", "580.95.05", nodes=NODES)
    found = review(step(POOL, "rtx", old, {**old, "node_drivers": {"n02": "418.88"}}), ml, STAYS)
    (cell,) = found.cells.changed
    assert (cell.pool, cell.before and cell.before.value, cell.after.value) == (
        "rtx (n02)",
        "compatible",
        "incompatible",
    )
    assert cell.uses == ("profile a of datahub",)


def test_an_image_that_needs_the_driver_of_one_node_says_that_this_node_needs_it_first() -> None:
    old = previews.pool("rtx", "580.95.05", nodes=NODES, node_drivers={"n02": "418.88"})
    text = markdown(
        step(POOL, "rtx", old, {**old, "node_drivers": {"n02": "575.57.08"}}),
        step(IMAGE, "ml", CUDA_12, CUDA_12),
        STAYS,
    )
    assert first(text) == "⚠️ made: 8 GPUs in 1 node restart; 30 seats; install driver 575.57.08 first"
    assert "the nodes of rtx (n02) need driver 575.57.08: until then ml does not run there" in text


def test_nodes_that_report_the_old_driver_are_reported_once() -> None:
    outputs = ({"drifted_nodes": {"rtx": []}}, {"drifted_nodes": {"rtx": ["n02"]}})
    new = {**OLD, "node_drivers": {"n02": "580.95.05"}}
    text = markdown(step(POOL, "rtx", OLD, new), STAYS, previews.stack_event("update", outputs))
    assert "still report" not in text


def test_a_profile_and_a_job_on_several_pools_are_affected_by_each_and_proved_on_each() -> None:
    several = {**previews.profile("a"), "pools": ["gtx", "rtx"]}
    several.pop("pool")
    users = previews.hub(several, courses=[COURSE], core_pool="cpu")
    job = {"image_name": "ml", "pools": ["gtx", "rtx"], "gpus": 1}
    events = [step(HUB, "datahub", users, users), step(JOB, "train", job, job), step(IMAGE, "ml", CUDA_10, CUDA_10)]
    gtx = previews.pool("gtx", nodes=["m01"])
    events += [step(POOL, "gtx", gtx, gtx), step(POOL, "cpu", {"pool": "cpu", "node_names": ["c01"]}, None)]
    found = review(*events, step(POOL, "rtx", OLD, previews.pool("rtx", "396.37", nodes=NODES)))
    broken = [(cell.image, cell.pool, cell.uses) for cell in found.cells.changed if cell.is_broken]
    assert broken == [("ml", "rtx", ("profile a of datahub", "job train"))]
    (who,) = [each.affected for each in found.changes if each.name == "rtx"]
    assert (who.seats, who.jobs) == (30, ("train",))


def test_a_profile_whose_pool_goes_and_that_has_another_is_reported_as_such() -> None:
    several = {**previews.profile("a"), "pools": ["gtx", "rtx"]}
    users, gtx = previews.hub(several), previews.pool("gtx", nodes=["m01"])
    text = markdown(step(POOL, "gtx", gtx, gtx), step(POOL, "rtx", OLD, None), step(HUB, "datahub", users, users))
    assert "Profile a of datahub asks for pool rtx, which is removed; it still lands on gtx." in text


def test_nodes_without_gpus_are_marked_as_such_and_no_image_is_checked_on_them() -> None:
    text = markdown(
        step(POOL, "cpu", None, {"pool": "cpu", "node_names": ["c01", "c02"]}), step(IMAGE, "ml", None, CUDA_10)
    )
    assert "2 nodes without GPUs" in text
    assert "gpu is missing" not in text
    found = review(step(POOL, "cpu", None, {"pool": "cpu", "node_names": ["c01"]}), step(IMAGE, "ml", None, CUDA_10))
    assert found.cells.not_compared == ()


def test_a_fleet_of_another_stack_has_its_nodes_with_another_driver_too() -> None:
    pool = {"name": "rtx", "gpu": "GeForce RTX 2080 Ti", "gpus_per_node": 8, "driver": "580.95.05"}
    pool |= {"container_toolkit": "1.17.8", "node_overrides": [{"nodes": ["n02-n03"], "driver": "418.88"}]}
    config = {"fleet": {"managed_by": "core", "total_gpus": 24, "pools": [pool]}}
    found = review(step(IMAGE, "ml", None, CUDA_12), STAYS, config=config)
    assert [(cell.pool, cell.after.value) for cell in found.cells.changed if cell.is_broken] == [
        ("rtx (n02, n03)", "incompatible")
    ]
