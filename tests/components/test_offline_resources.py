"""What `stack check` judges is what the program would register: pods, images and hubs, under the same names."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cli.stack.check import offline_resources
from policies.evaluate import IMAGE_TOKEN
from policies.pod_workloads import holds_pods
from settings.reading import load_stack

ROOT = Path(__file__).resolve().parents[2]


def program() -> Any:
    """The program of the project, as a module."""
    spec = importlib.util.spec_from_file_location("program", ROOT / "__main__.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def name(inputs: Any, logical: str) -> str:
    metadata = inputs.get("metadata") or {}
    return f"{metadata.get('namespace')}/{metadata['name']}" if metadata.get("name") else logical


@pytest.mark.slow
@pytest.mark.parametrize("stack", ["dsmlp-fall", "dsmlp-next", "cupy"])
def test_the_offline_check_judges_what_the_program_registers(stack: str, recorded: Callable[..., Any]) -> None:
    settings = load_stack(ROOT / "stacks" / f"Pulumi.{stack}.yaml")
    nodes: dict[str, dict[str, Any]] = {each: {} for each in settings.fleet.node_names}
    recording = recorded(lambda: program().deploy(settings), preview=True, existing=nodes)
    registered = {
        (each.type, name(each.inputs, each.name))
        for each in recording.resources
        if each.type == IMAGE_TOKEN or holds_pods(each.type)
    }
    judged = {(token, name(inputs, logical)) for token, logical, inputs in offline_resources(settings)}
    assert {each for each in judged if each[0] != "pulumi:pulumi:Stack"} == registered
