"""A driver that changes in the stack files of Docker hosts and of EKS, as a reviewer gets it.

The whole program is run under mocks with the driver of today and with the new one, and what it registers becomes the
events of a preview. So parts of the way are stand-ins: the engine, and the Docker host's answer.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from running_engine import running_engine

from cli.__main__ import commands
from settings.reading import load_stack

sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))  # for previews.py: folders of tests are no packages here
import previews

PROJECT = Path(__file__).parents[2]
GROUP, NODE_GROUP = "gpu-commons:index:EksGpuNodeGroup", "aws:eks/nodeGroup:NodeGroup"
COMPUTED = {NODE_GROUP: {"resources": [{"autoscalingGroups": [{"name": "eks"}]}]}}
Reviewed = Callable[..., tuple[int, str]]
Key = tuple[str, str]


@pytest.fixture
def reviewed(recorded: Callable[..., Any], program: ModuleType, tmp_path: Path) -> Iterator[Reviewed]:
    """`reviewed("dcsg", "580.95.05", "470.256.02")`: exit code and comment for one driver in place of another."""
    with running_engine(tmp_path) as address:
        overlay = tmp_path / "site.yaml"
        overlay.write_text(json.dumps({"engines": {"workstation": address}}))

        def registered(text: str, name: str) -> dict[Key, dict[str, Any]]:
            file = tmp_path / f"Pulumi.{name}.yaml"
            file.write_text(text)
            stack = load_stack(file, site=overlay if "engine:" in text else None)
            run = recorded(lambda: program.deploy(stack), preview=True, computed=COMPUTED)
            return {
                (each.type, each.name): json.loads(json.dumps(each.inputs, default=text_of)) for each in run.resources
            }

        def review(name: str, old: str, new: str) -> tuple[int, str]:
            text = (PROJECT / "stacks" / f"Pulumi.{name}.yaml").read_text()
            assert f'driver: "{old}"' in text
            before = registered(text, name)
            after = registered(text.replace(f'driver: "{old}"', f'driver: "{new}"'), name)
            events = [step(key, before.get(key), after.get(key)) for key in dict.fromkeys([*before, *after])]
            given = previews.stream(*events, stack=name)
            result = CliRunner().invoke(commands, ["comment", "-", "--date", "2026-11-23"], input=given)
            return result.exit_code, result.stdout.replace(str(tmp_path), "/run")

        yield review


def text_of(_: object) -> str:
    """Of what a preview does not know, such as a digest: the same on both sides."""
    return "known after the build"


def step(key: Key, old: Any, new: Any) -> previews.Event:
    """One resource; a node group of EKS is below the component of its name, which mocks do not say."""
    kind, name = key
    event, body = previews.step(kind, name, old, new)
    if kind != NODE_GROUP:
        return event, body
    return event, {"metadata": {**body["metadata"], "urn": previews.urn(f"{GROUP}${kind}", name)}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "old", "new", "expected"),
    [
        ("dcsg", "580.95.05", "595.71.05", 1),  # its V100 ends with 580
        ("perceptron", "580.95.05", "595.71.05", 0),
        ("eks-g6", "580", "580.126.09", 0),
    ],
)
def test_a_driver_that_changes_in_a_stack_file_is_a_comment(
    reviewed: Reviewed, golden: Callable[[str], Any], name: str, old: str, new: str, expected: int
) -> None:
    code, text = reviewed(name, old, new)
    golden(f"comment/driver-{name}.md").equals(text)
    assert code == expected
