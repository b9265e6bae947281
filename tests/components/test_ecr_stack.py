"""The whole program on a stack of EKS whose images lie in ECR: what it would make, under mocks."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from settings.models import Stack
from settings.reading import load_stack

PROJECT = Path(__file__).parents[2]
ECR = "123456789012.dkr.ecr.us-east-1.amazonaws.com"
COMPUTED = {"aws:eks/nodeGroup:NodeGroup": {"resources": [{"autoscalingGroups": [{"name": "eks"}]}]}}


@pytest.fixture(autouse=True)
def _day(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GPU_COMMONS_TODAY", "2026-11-23")


def stack(tmp_path: Path, registry: str) -> Stack:
    data = yaml.safe_load((PROJECT / "stacks" / "Pulumi.eks-g6.yaml").read_text())
    site = data["config"]["gpu-commons:site"]
    site.update(registry=registry, allowed_registries=[*site["allowed_registries"], ECR])
    file = tmp_path / "Pulumi.ecr.yaml"
    file.write_text(yaml.safe_dump(data))
    return load_stack(file)


@pytest.mark.slow
def test_each_image_has_a_repository_with_immutable_tags_in_ecr_and_in_no_other_registry(
    recorded: Callable[..., Any], program: ModuleType, tmp_path: Path
) -> None:
    in_ecr = stack(tmp_path, f"{ECR}/gpu-commons")
    run = recorded(lambda: program.deploy(in_ecr), preview=True, computed=COMPUTED)
    made = {each.inputs["name"]: each.inputs for each in run.of_type("repository:Repository")}
    assert sorted(made) == [
        f"gpu-commons/{name}" for name in ("cupy-notebook", "datahub-base-notebook", "hub", "proxy")
    ]
    assert {(each["imageTagMutability"], each["forceDelete"]) for each in made.values()} == {("IMMUTABLE", False)}
    names = [each.type.rpartition(":")[2] for each in run.resources]
    assert names.index("GpuImage") > max(index for index, name in enumerate(names) if name == "EcrRepository")

    elsewhere = stack(tmp_path, "registry.example.edu/gpu-commons")
    assert not recorded(lambda: program.deploy(elsewhere), preview=True, computed=COMPUTED).of_type("Repository")
