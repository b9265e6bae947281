"""What a step knows of the stack."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from lab import files, site, steps
from lab.bases import Substitute
from lab.instance import Instance
from lab.toolchain import Toolchain

SUBSTITUTE = Substitute("quay.io/a/b:1", "127.0.0.1:5001/lab/base@sha256:" + "0" * 64, "not reachable")
STACKS = Path(__file__).parents[1] / "stacks"


@pytest.fixture
def context(tmp_path: Path) -> steps.Context:
    instance = Instance("default", 0, tmp_path, {"registry": 5001})
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


def of_eks(context: steps.Context) -> steps.Context:
    file = STACKS.parents[1] / "stacks" / "Pulumi.eks-g6.yaml"
    return steps.Context(context.instance, context.tools, file, context.nodes, context.report)


def test_the_real_node_is_an_instance_on_which_hub_and_job_can_both_run(context: steps.Context) -> None:
    on_eks = of_eks(context)
    before = on_eks.real_node()
    assert before is not None
    assert before.gpus is not None
    assert (before.name, before.gpus.name, len(before.gpus.uuids)) == ("l4-1", "NVIDIA L4", 1)
    site.write(context.instance, [], core_pool="l4")
    assert on_eks.stack().site.core_pool == "l4"
    assert on_eks.real_node() == before


def test_a_hub_moves_to_the_real_node_for_one_stack_and_the_next_one_has_its_own(context: steps.Context) -> None:
    site.write(context.instance, [SUBSTITUTE], core_pool="l4")
    site.forget_stack(context.instance)
    stack = context.stack()
    assert stack.site.core_pool == "cpu"
    assert stack.site.lab
    assert [each.reference for each in stack.site.substitutes] == [SUBSTITUTE.reference]


def test_a_stack_whose_users_have_accounts_is_read_after_one_with_an_administrator_of_the_labs(
    context: steps.Context,
) -> None:
    site.write(context.instance, [])
    site.forget_stack(context.instance)
    file = STACKS.parents[1] / "stacks" / "Pulumi.quest.yaml"
    quest = steps.Context(context.instance, context.tools, file, context.nodes, context.report).stack()
    assert quest.site.slurm is not None
    assert quest.site.slurm.hubs is not None
    assert sorted(quest.site.slurm.hubs.accounts) == ["ada", "bob"]
