"""The comment about pools of instances on AWS: which pools roll, how, and who is on them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here

import previews
from previews import HUB, step
from test_review_nodes import first, markdown

EKS, FLATCAR = "gpu-commons:index:EksGpuNodeGroup", "gpu-commons:index:FlatcarGpuNodeGroup"
NODE_GROUP, TEMPLATE = "aws:eks/nodeGroup:NodeGroup", "aws:ec2/launchTemplate:LaunchTemplate"
L4: dict[str, Any] = {
    "pool": "l4", "instance_types": ["g6.2xlarge"], "min": 0, "max": 8, "gpu": "NVIDIA L4", "gpus_per_node": 1,
    "ami_type": "AL2023_x86_64_NVIDIA", "ami_release": "1.34.9-20260714", "driver": "R580",
    "driver_version": "580.159.03",
}  # fmt: skip
OLDER = {**L4, "ami_release": "1.34.1-20251002", "driver": "R570", "driver_version": "570.195.03"}
USERS = previews.hub(previews.profile("a", "l4"), courses=[{"name": "ml", "title": "ML", "seats": 30}])
STAYS = step(HUB, "datahub", USERS, USERS)


def below(group: str, kind: str, old: Any, new: Any) -> previews.Event:
    """A resource that the group's component makes under the group's name."""
    event, body = step(kind, "l4", old, new)
    metadata = {**body["metadata"], "urn": previews.urn(f"{group}${kind}", "l4")}
    return event, {"metadata": metadata}


def released(old: str, new: str) -> previews.Event:
    return below(EKS, NODE_GROUP, {"releaseVersion": old}, {"releaseVersion": new})


def test_a_driver_that_changes_on_instances_shows_the_machine_image_and_that_the_pool_rolls() -> None:
    text = markdown(step(EKS, "l4", L4, OLDER), released("1.34.9-20260714", "1.34.1-20251002"), STAYS)
    assert "pool l4 rolls: up to 8 instances of g6.2xlarge replaced with driver 570.195.03" in first(text)
    assert "driver: `580.159.03` → `570.195.03`" in text
    assert "machine image's release: `1.34.9-20260714` → `1.34.1-20251002`" in text
    assert "hub datahub: profile a<br>course ML (30 seats)" in text
    assert "EKS drains 1 of its instances at a time" in text
    assert "install driver" not in text
    assert "R570" not in text.split("Whole diff")[0]


def test_a_flatcar_group_says_that_nothing_is_drained() -> None:
    before = {**L4, "flatcar_release": "4593.2.5", "max_unavailable": 2}
    text = markdown(
        step(FLATCAR, "l4", before, {**before, "flatcar_release": "4593.2.6"}),
        below(FLATCAR, TEMPLATE, {"imageId": "ami-1"}, {"imageId": "ami-2"}),
        STAYS,
    )
    assert "Pool l4 rolls: an instance refresh ends 2 of its instances at a time without draining them" in text
    assert "Flatcar: `4593.2.5` → `4593.2.6`" in text


def test_what_the_stack_file_and_the_group_both_record_is_shown_once() -> None:
    pinned = {"machine_image": {"type": "AL2023_x86_64_NVIDIA", "release": "1.34.1-20251002"}}
    recorded = ({"fleet": {"pools": [{"name": "l4"}]}}, {"fleet": {"pools": [{"name": "l4", **pinned}]}})
    record = "gpu-commons:index:StackRecord"
    text = markdown(step(EKS, "l4", L4, {**L4, **pinned}), step(record, "stack-file", *recorded), STAYS)
    assert text.split("Whole diff")[0].count("1.34.1-20251002") == 1


@pytest.mark.parametrize("key", ["max", "tags"])
def test_what_starts_no_other_instance_rolls_nothing(key: str) -> None:
    changed = {"max": {"max": 4}, "tags": {"tags": {"a": "b"}}}[key]
    text = markdown(step(EKS, "l4", L4, {**L4, **changed}), STAYS)
    assert "rolls" not in text
    assert "drain" not in text


def test_a_group_that_goes_ends_what_runs_on_it() -> None:
    text = markdown(step(EKS, "l4", L4, None), step(HUB, "datahub", USERS, USERS))
    assert "The instances of pool l4 end" in text


def test_a_new_group_says_what_it_may_grow_to() -> None:
    text = markdown(step(EKS, "l4", None, L4), STAYS)
    assert "0 to 8 instances of g6.2xlarge with 1 NVIDIA L4 each, driver 580.159.03" in text
