"""What a step knows of the stack."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab import files, site, steps
from lab.instance import Instance
from lab.toolchain import Toolchain

STACKS = Path(__file__).parents[1] / "stacks"


@pytest.fixture
def context(tmp_path: Path) -> steps.Context:
    instance = Instance("default", 0, tmp_path, {})
    instance.config.mkdir()
    file = Path(shutil.copy(STACKS / "Pulumi.mixed.yaml", tmp_path))
    return steps.Context(instance, Toolchain(), file, steps.Nodes.ONE_REAL, lambda _: None)


def test_all_steps_of_one_command_see_the_stack_file_that_it_began_with(context: steps.Context) -> None:
    assert context.has_cluster()
    context.stack_file.write_text("config: {}\n")
    real = context.real_node()
    assert real is not None
    assert real.name == "c01"


def test_a_stack_is_read_anew_once_the_overlay_of_the_lab_is_written(context: steps.Context) -> None:
    assert not context.stack().site.lab
    files.write(site.path(context.instance), "lab: true\n")
    assert context.stack().site.lab
