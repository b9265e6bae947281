"""What is refused on a Docker host and in a job of Slurm, through the real engine: each row of refusals.py."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from plain_stack import Previewed, plain_stack
from running_lab import PROJECT, RunningLab

from cli.review.findings import Level

sys.path.insert(0, str(Path(__file__).parents[1] / "policies"))  # for refusals.py: folders of tests are no packages
from refusals import CONTAINER, JOB, OF_CONTAINERS, OF_JOBS, SOUND_CONTAINER, SOUND_JOB

HOST: Final = {
    "gpu-commons:site": {
        "kind": "docker",
        "registry": "registry.example.edu",
        "allowed_registries": ["registry.example.edu", "docker.io"],
    },
    "gpu-commons:fleet": {
        "total_gpus": 2,
        "pools": [
            {
                "name": "box",
                "engine": "unix:///var/run/docker.sock",
                "gpu": "GeForce GTX 1080 Ti",
                "gpus_per_node": 2,
                "driver": "418.88",
                "container_toolkit": "1.17.8",
                "cpu": 16,
                "memory_gib": 64,
                "root_disk_gib": 500,
            }
        ],
    },
}
COMET: Final = PROJECT / "stacks" / "Pulumi.comet.yaml"


def previewed(
    servers: RunningLab, folder: Path, config: Mapping[str, Any], kind: str, inputs: Mapping[str, Mapping[str, Any]]
) -> Previewed:
    """Resources of that kind, by name, in one stack."""
    stack = plain_stack(servers, folder)
    stack.write({"config": config})
    return stack.preview({"type": kind, "name": name, "inputs": each} for name, each in inputs.items())


@pytest.fixture(scope="module")
def on_a_host(servers: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> Previewed:
    rows = {f"c{number}": changes for number, (_, changes, _) in enumerate(OF_CONTAINERS)}
    inputs = {name: {**SOUND_CONTAINER, **changes, "name": name} for name, changes in {"sound": {}, **rows}.items()}
    return previewed(servers, tmp_path_factory.mktemp("host"), HOST, CONTAINER, inputs)


@pytest.fixture(scope="module")
def on_slurm(servers: RunningLab, tmp_path_factory: pytest.TempPathFactory) -> Previewed:
    config = yaml.safe_load(COMET.read_text())["config"]
    rows = {f"j{number}": changes for number, (_, changes, _) in enumerate(OF_JOBS)}
    inputs = {name: {**SOUND_JOB, **changes} for name, changes in {"sound": {}, **rows}.items()}
    return previewed(servers, tmp_path_factory.mktemp("slurm"), config, JOB, inputs)


def refusals(shown: Previewed, about: str) -> list[tuple[str, str]]:
    """Rules that refuse it, and their words; a finding that several have in common comes once, with its places."""
    return [(each.rule, each.text) for each in shown.findings if (each.level, each.about) == (Level.REFUSED, about)]


@pytest.mark.parametrize(("number", "row"), [*enumerate(OF_CONTAINERS)])
def test_what_a_container_may_not_do_is_refused(
    on_a_host: Previewed, number: int, row: tuple[str, dict[str, Any], str]
) -> None:
    rule, _, words = row
    assert any(found == rule and words in text for found, text in refusals(on_a_host, f"Container c{number}"))


@pytest.mark.parametrize(("number", "row"), [*enumerate(OF_JOBS)])
def test_what_a_job_of_slurm_may_not_do_is_refused(
    on_slurm: Previewed, number: int, row: tuple[str, dict[str, Any], str]
) -> None:
    rule, _, words = row
    assert any(found == rule and words in text for found, text in refusals(on_slurm, f"Job j{number}"))


def test_what_is_sound_is_not_refused_and_what_is_not_ends_the_preview(
    on_a_host: Previewed, on_slurm: Previewed
) -> None:
    assert refusals(on_a_host, "Container sound") == refusals(on_slurm, "Job sound") == []
    assert on_a_host.ended.code != 0
    assert on_slurm.ended.code != 0
