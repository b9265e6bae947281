"""The comment about pools of instances on AWS: which pools roll, how, and who is on them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here

import previews
from previews import HUB, step
from test_review_nodes import markdown

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


def test_what_the_stack_file_and_the_group_both_record_is_shown_once() -> None:
    pinned = {"machine_image": {"type": "AL2023_x86_64_NVIDIA", "release": "1.34.1-20251002"}}
    recorded = ({"fleet": {"pools": [{"name": "l4"}]}}, {"fleet": {"pools": [{"name": "l4", **pinned}]}})
    record = "gpu-commons:index:StackRecord"
    text = markdown(step(EKS, "l4", L4, {**L4, **pinned}), step(record, "stack-file", *recorded), STAYS)
    assert text.split("Whole diff")[0].count("1.34.1-20251002") == 1
