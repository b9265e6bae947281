"""The gate: a change that cannot run is refused before anything is touched, with everybody whom it concerns.

The stack is a copy of the user's, with specs of its own; it is never deployed.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import own_stack
import pytest
from own_stack import Project, succeeded
from running_lab import STACK_FILE, RunningLab

HUB, JOBS, PORT = "gate-hub", "gate-batch", 30082  # beside those of the other tests
CUDA_10_2 = {
    'line: "10.1"': 'line: "10.2"',
    "cudatoolkit=10.1.243": "cudatoolkit=10.2.89",
    "torch==1.7.1+cu101": "torch==1.7.1",
    "torchvision==0.8.2+cu101": "torchvision==0.8.2",
}


class Gate(Project):
    """A copy of the project and of the stack, with a backend of its own."""

    def change(self, change: Callable[[dict[str, Any]], None] = lambda _: None, file: Path = STACK_FILE) -> None:
        """The stack file becomes the user's, or another of the project, under other names, changed."""
        stack = own_stack.settings(HUB, JOBS, PORT, file)
        for course in stack["config"].get("gpu-commons:courses", ()):
            course["last_day"] = "2099-12-18"  # a term that is over promises nothing
        change(stack["config"])
        self.write(stack)

    def set_cuda_line(self) -> None:
        """The ML image's CUDA line becomes 10.2."""
        spec = self.project / "images" / "scipy-ml-notebook" / "image.yaml"
        text = spec.read_text()
        for old, new in CUDA_10_2.items():
            assert old in text
            text = text.replace(old, new)
        spec.write_text(text)

    def policy_messages(self) -> list[str]:
        """What the pack refuses in a preview, one message for each finding."""
        ended = self.pulumi("preview", "--json", PULUMI_ENABLE_STREAMING_JSON_PREVIEW="true")
        events = [event["policyEvent"] for event in ended.events() if "policyEvent" in event]
        refused = [event["message"] for event in events if event["enforcementLevel"] == "mandatory"]
        assert (ended.code != 0) == bool(refused), ended.shown
        return refused


@pytest.fixture
def gate(lab: RunningLab, tmp_path: Path) -> Gate:
    made = Gate(lab, tmp_path, "gate")
    made.make(own_images=True)
    made.change()
    succeeded(made.pulumi("stack", "init", "--no-select"))
    return made


def test_a_driver_too_old_for_a_cuda_line_is_one_finding_that_lists_everything_affected(gate: Gate) -> None:
    gate.set_cuda_line()
    (message,) = gate.policy_messages()
    lines = message.splitlines()  # what the policy is for stands above what it found
    assert "P-RUN: image scipy-ml-notebook: does not run on pools gtx1080ti, rtx2080ti (driver 418.88)" in message
    assert "needs driver 440.33 or newer" in message
    (who,) = [line for line in lines if line.strip().startswith("who: ")]
    assert "profiles gtx1080ti, rtx2080ti of hub gate-hub; job gpu-smoke" in who
    assert "courses Introduction to machine learning (180 seats), Deep learning (120 seats)" in who
    (change,) = [line for line in lines if line.strip().startswith("change: ")]
    assert "Use torch 1.7.1+cu101" in change
    assert "use driver 440.33 or newer" in change


def test_nothing_of_it_is_deployed(gate: Gate) -> None:
    gate.set_cuda_line()
    ended = gate.pulumi("up", "--yes", "--suppress-progress")
    assert ended.code != 0
    assert "P-RUN" in ended.shown
    exported = json.loads(succeeded(gate.pulumi("stack", "export")))
    assert not exported["deployment"].get("resources")


def test_the_same_change_passes_after_the_upgrade_of_the_site(gate: Gate) -> None:
    gate.set_cuda_line()
    gate.change(file=STACK_FILE.with_name("Pulumi.dsmlp-next.yaml"))
    assert gate.policy_messages() == []


def test_promises_that_the_fleet_cannot_keep_stop_at_the_first_resource(gate: Gate) -> None:
    def promise(config: dict[str, Any]) -> None:
        for course in config["gpu-commons:courses"]:
            course["guaranteed_gpus"] = 70

    gate.change(promise)
    (message,) = gate.policy_messages()
    assert "are promised 140 GPUs in total" in message
    assert "(gtx1080ti, rtx2080ti) have 112" in message


def test_a_waived_refusal_is_reported_and_lets_the_preview_pass_until_its_last_day(gate: Gate) -> None:
    gate.set_cuda_line()
    waiver = {
        "rule": "P-RUN",
        "resource": "image scipy-ml-notebook",
        "reason": "the new driver comes tonight",
        "owner": "platform team",
        "until": "2999-12-31",
    }

    def waive(config: dict[str, Any]) -> None:
        config["gpu-commons:policies"] = {"waivers": [waiver]}

    gate.change(waive)
    ended = gate.pulumi("preview", "--diff")
    assert ended.code == 0, ended.shown
    assert (
        "P-WAIVER: stack: waived: P-RUN of image scipy-ml-notebook, until 2999-12-31, by platform team" in ended.shown
    )
    waiver["until"] = "2026-01-01"
    gate.change(waive)
    assert len(gate.policy_messages()) == 1
