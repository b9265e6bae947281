"""The comment about a stack of a site with Slurm: pools are partitions, and the stack's record describes them."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

from cli.comment import _price
from cli.engine_events import read_stream
from cli.review.document import Sources, review_of
from cli.review.markdown import review_markdown
from compat import Case

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here

import previews
from previews import step

RECORD, JOB, IMAGE = "gpu-commons:index:StackRecord", "gpu-commons:index:SlurmGpuJob", previews.IMAGE
TODAY = dt.date(2026, 11, 21)
K80: dict[str, Any] = {
    "name": "gpu-k80", "partition": "gpu", "gres": "k80", "nodes": 2, "exclusive": True, "gpu": "Tesla K80",
    "gpus_per_node": 4, "driver": "470.256.02", "cpu": 24, "memory_gib": 128, "root_disk_gib": 300,
}  # fmt: skip
P100 = {**K80, "name": "gpu-p100", "gres": "p100", "gpu": "Tesla P100-PCIE-16GB"}
TRAIN: dict[str, Any] = {
    "image_name": "torch", "gpus": 1, "cpu": 4, "memory_gib": 16, "command": ["python", "train.py"],
    "partitions": [{"pool": "gpu-k80", "partition": "gpu", "gres": "k80"}, {"pool": "gpu-p100", "partition": "gpu"}],
}  # fmt: skip


def record(*pools: dict[str, Any]) -> dict[str, Any]:
    return {"site": {"kind": "slurm", "name": "comet"}, "fleet": {"pools": [*pools]}}


def comment(*events: previews.Event, cases: Any = None) -> str:
    sources = Sources(lambda name, facts: cases, _price, TODAY)  # noqa: ARG005
    return review_markdown(review_of(read_stream(previews.stream(*events)), None, sources), TODAY)


IMAGE_STEP = {"image": "torch", "repository": "r/torch", "facts": {"base": "debian"}}
CU118 = (Case(framework="torch", framework_version="2.0.1", build="cu118"),)


def changed(*pools: dict[str, Any]) -> str:
    """The comment where partitions become these, and a job with torch 2.0.1 for CUDA 11.8 may land on both."""
    events = (step(IMAGE, "torch", IMAGE_STEP, IMAGE_STEP), step(JOB, "train", TRAIN, TRAIN))
    return comment(step(RECORD, "stack", record(K80, P100), record(*pools)), *events, cases=CU118)


HUB = "gpu-commons:index:SlurmHub"
SERVER: dict[str, Any] = {
    "name": "one-gpu", "title": "One GPU", "image_name": "torch", "gpus": 1, "cpu": 4, "memory_gib": 16,
    "time_min": 240, "partitions": [{"pool": "gpu-k80", "partition": "gpu", "gres": "k80"}],
}  # fmt: skip


def test_a_driver_that_ends_the_servers_of_a_hub_is_reported_with_their_profile() -> None:
    hub = step(HUB, "quest", {"profiles": [SERVER]}, {"profiles": [SERVER]})
    before, after = record(K80), record({**K80, "driver": "418.88"})
    text = comment(step(RECORD, "stack", before, after), step(IMAGE, "torch", IMAGE_STEP, IMAGE_STEP), hub, cases=CU118)
    assert "**torch will not run on gpu-k80, where this stack starts it.**" in text
    assert "One GPU" in text or "one-gpu" in text
