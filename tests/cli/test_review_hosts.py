"""The comment about a stack on Docker hosts: a host is a pool with one node, a container is what runs on it."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

from cli.comment import _price
from cli.engine_events import read_stream
from cli.review.document import Sources, review_of
from cli.review.markdown import review_markdown

sys.path.insert(0, str(Path(__file__).parent))  # for previews.py: folders of tests are no packages here

import previews
from previews import step
from rows import each_row

HOST, CONTAINER = "gpu-commons:index:DockerHost", "gpu-commons:index:DockerGpuContainer"
TODAY = dt.date(2026, 11, 21)
BOX: dict[str, Any] = {
    "pool": "box", "engine": "unix:///var/run/docker.sock", "gpu": "Tesla V100-SXM2-16GB", "gpus_per_node": 2,
    "driver_version": "418.88", "container_toolkit_version": "1.17.8", "cpu": 16, "memory_gib": 128,
}  # fmt: skip
TRAIN: dict[str, Any] = {
    "pool": "box", "image_name": "perceptron", "gpus": 1, "cpu": 4, "memory_gib": 16, "command": ["train"],
    "runs_to_end": True,
}  # fmt: skip


SOURCES = Sources(lambda name, facts: None, _price, TODAY)  # noqa: ARG005 - no spec is at hand


def comment(*events: previews.Event) -> str:
    return review_markdown(review_of(read_stream(previews.stream(*events)), None, SOURCES), TODAY)


def container(name: str, op: str, *, ends: bool = False, parents: str = CONTAINER) -> previews.Event:
    """A container of pulumi-docker below a component of ours."""
    inputs = {"name": name, "image": "registry.example.edu/perceptron@sha256:1", "mustRun": not ends}
    kind = f"{parents}$docker:index/container:Container"
    kind_of_event, body = step(kind, f"{name}-container", inputs, {**inputs, "shmSize": 1024}, op)
    return kind_of_event, {"metadata": {**body["metadata"], "type": "docker:index/container:Container"}}


HUB = "gpu-commons:index:DockerHub"


def hub_inputs(**changes: Any) -> dict[str, Any]:
    kernel = {
        "name": "cupy", "title": "CuPy", "image": "r/kernel@sha256:1", "image_name": "kernel", "gpus": 1, "cpu": 2,
        "memory_gib": 8,
    }  # fmt: skip
    profile = {
        "name": "remote", "title": "Remote", "image": "r/client@sha256:1", "image_name": "client", "cpu": 1,
        "memory_gib": 2, "kernels": [kernel],
    }  # fmt: skip
    course = {"name": "ml", "title": "Machine learning", "seats": 30, "profiles": ["remote"]}
    images = {"hub_image": "r/hub@sha256:1", "hub_image_name": "docker-hub", "filter_image_name": "engine-filter"}
    return {"pool": "box", "profiles": [profile], "courses": [course], "kernels_per_user": 4, **images, **changes}


def kernel_with(**changes: Any) -> dict[str, Any]:
    inputs = hub_inputs()
    (profile,) = inputs["profiles"]
    return {**inputs, "profiles": [{**profile, "kernels": [{**profile["kernels"][0], **changes}]}]}


def of_hub(new: dict[str, Any], *more: previews.Event) -> str:
    text = comment(step(HOST, "box", BOX, BOX), step(HUB, "dcsg", hub_inputs(), new), *more)
    (found,) = [line for line in text.splitlines() if line.startswith("| hub `dcsg` |")]
    return found


@each_row(
    ("new", "cell"),
    [
        (kernel_with(gpus=2), "profile remote, kernel cupy, GPUs: `1` → `2`"),
        (kernel_with(memory_gib=16), "profile remote, kernel cupy, memory: `8 GiB` → `16 GiB`"),
        (hub_inputs(kernels_per_user=2), "kernels that one user may have at a time: `4` → `2`"),
        (hub_inputs(pool="other"), "pool: `box` → `other`"),
    ],
)
def test_a_change_of_a_hub_on_a_host_is_shown_with_everybody_on_it(new: dict[str, Any], cell: str) -> None:
    assert cell in of_hub(new)
    assert "course Machine learning (30 seats)" in of_hub(new)


def test_a_kernel_that_is_rebuilt_is_shown_by_the_name_of_its_image() -> None:
    image = previews.IMAGE, "kernel"
    rebuilt = step(*image, {"image": "kernel", "facts": {}}, {"image": "kernel", "facts": {"version": "2"}})
    row = of_hub(kernel_with(image="r/kernel@sha256:2"), rebuilt)
    assert "uses the new kernel" in row
    assert "sha256" not in row


def test_a_driver_that_changes_names_the_people_whose_kernels_have_the_gpus() -> None:
    text = comment(
        step(HOST, "box", BOX, {**BOX, "driver_version": "580.95.05"}),
        step(HUB, "dcsg", hub_inputs(), hub_inputs()),
    )
    assert "hub dcsg: profile remote" in text
    assert "course Machine learning (30 seats)" in text
