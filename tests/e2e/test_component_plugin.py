"""`components/`, copied elsewhere with the folders that it stands on, serves as a plug-in for other programs."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest
import yaml
from running_lab import PROJECT, STACK, Ended, RunningLab

pytestmark = pytest.mark.soak(part="languages")

FOLDERS = ("errors", "compat", "fleet", "images", "imaging", "workloads", "platforms", "components")
MADE_ELSEWHERE = shutil.ignore_patterns(".venv", "uv.lock", "__pycache__")

POOL = """
import pulumi


class GpuNodePool(pulumi.ComponentResource):
    gpus: pulumi.Output[int]

    def __init__(self, name, args):
        super().__init__("gpu-commons:index:GpuNodePool", name, {**args, "gpus": None}, remote=True)


pool = GpuNodePool(
    "elsewhere",
    {
        "pool": "gtx1070ti",
        "nodeNames": ["n10"],
        "gpu": "GeForce GTX 1070 Ti",
        "gpusPerNode": 7,
        "driverVersion": "418.88",
        "containerToolkitVersion": "1.7.0",
    },
)
pulumi.export("gpus", pool.gpus)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the copies and the backend of stacks that only tests know."""
    made = tmp_path_factory.mktemp("elsewhere")
    for name in FOLDERS:
        shutil.copytree(PROJECT / name, made / name, ignore=MADE_ELSEWHERE)
    (made / "state").mkdir()
    return made


@pytest.fixture(scope="module")
def schema(lab: RunningLab, folder: Path) -> Ended:
    """What the copy says of itself. The engine makes its environment on the way."""
    return lab.run(lab.pulumi, "package", "get-schema", "./components", cwd=folder)


def preview(lab: RunningLab, folder: Path, name: str, program: str) -> Ended:
    """A preview of a program that uses the copy. Nothing is deployed."""
    project = folder / name
    project.mkdir()
    settings = {
        "name": name,
        "runtime": {"name": "python", "options": {"virtualenv": sys.prefix}},
        "plugins": {"providers": [{"name": "gpu-commons", "path": "../components"}]},
    }
    (project / "Pulumi.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))
    (project / "__main__.py").write_text(program)
    backend = {"PULUMI_BACKEND_URL": f"file://{folder}/state"}
    made = lab.run(lab.pulumi, "stack", "init", STACK, "--non-interactive", cwd=project, **backend)
    assert made.code == 0, made.shown
    return lab.preview(cwd=project, **backend)


def test_a_copy_makes_its_own_environment_and_says_what_it_can_build(schema: Ended, folder: Path) -> None:
    assert schema.code == 0, schema.shown
    assert (folder / "components" / ".venv" / "bin" / "python").exists()
    described = json.loads(schema.out)
    assert described["name"] == "gpu-commons"
    assert set(described["resources"]) == {
        "gpu-commons:index:GpuImage",
        "gpu-commons:index:GpuJob",
        "gpu-commons:index:GpuNodePool",
        "gpu-commons:index:NotebookHub",
        "gpu-commons:index:NvidiaRuntime",
        "gpu-commons:index:PrePuller",
    }
    pool = described["resources"]["gpu-commons:index:GpuNodePool"]
    assert pool["isComponent"]
    assert sorted(pool["requiredInputs"]) == ["nodeNames", "pool"]  # nodes without GPUs have no GPU and no driver
    assert set(pool["properties"]) == {"driftedNodes", "gpus", "nodeNames"}


def test_a_program_elsewhere_constructs_a_pool_through_the_copy(lab: RunningLab, schema: Ended, folder: Path) -> None:
    assert schema.code == 0, schema.shown
    ended = preview(lab, folder, "pool", POOL)
    assert ended.code == 0, ended.messages()
    assert {name: step["op"] for name, step in ended.steps().items() if "pulumi:" not in step["type"]} == {
        "elsewhere": "create",
        "elsewhere-n10-found": "read",
        "elsewhere-n10": "create",
    }
    patch = ended.steps()["elsewhere-n10"]["new"]["inputs"]
    assert patch["metadata"]["labels"]["gpu-commons.org/driver"] == "418.88"


def test_a_copy_without_the_folders_that_it_stands_on_says_which(lab: RunningLab, tmp_path: Path) -> None:
    for name in ("components", "compat", "fleet"):
        shutil.copytree(PROJECT / name, tmp_path / name, ignore=MADE_ELSEWHERE)
    described = lab.run(lab.pulumi, "package", "get-schema", "./components", cwd=tmp_path)
    assert described.code != 0
    absent = "errors, images, imaging, workloads, platforms"
    assert f"error: not in {tmp_path}: {absent}; copy these folders there as well" in described.shown
