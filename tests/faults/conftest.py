"""A second lab, of its own name, ports, ranges and folder, for tests that break things.

It has simulated nodes only and a project of its own: the real program, components and policies by link, beside a stack
file and an image that builds in seconds. Whatever a test does to it, the user's lab and stack are other ones.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest
import yaml

from lab import engine, processes, steps
from lab.cluster import Cluster
from lab.instance import Instance, forget_instance, open_instance, state_home
from lab.toolchain import Toolchain

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
NAME = "faults"
STACK = "small"
LINKED = ("__main__.py", "components", "lab", "policies", "pyproject.toml", "uv.lock")
WITHIN_S = 150

Settings = dict[str, Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.lab)


@dataclass(frozen=True)
class Outcome:
    """How a command ended and all that it said, both streams in order."""

    code: int
    text: str

    def succeeded(self) -> str:
        assert self.code == 0, self.text
        return self.text

    def refused(self) -> str:
        """The text of a failure that a person can read: exit code not 0, and no traceback."""
        assert self.code != 0, self.text
        assert "Traceback" not in self.text, self.text
        return self.text


@dataclass
class Lab:
    """The second lab and its project."""

    instance: Instance
    tools: Toolchain
    project: Path
    up_to_date: bool = field(default=False)  # whether the stack is known to be deployed as `settings()` says

    @property
    def environment(self) -> dict[str, str]:
        """Nothing of the lab whose tests these are, but where programs are."""
        foreign = ("GPU_COMMONS_", "PULUMI_", "KUBECONFIG", "DOCKER_CONFIG")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        return {**kept, "GPU_COMMONS_STACKS": str(self.project / "stacks")}

    def write(self, settings: Settings, stack: str = STACK) -> None:
        """The stack file, whole."""
        (self.project / "stacks" / f"Pulumi.{stack}.yaml").write_text(yaml.safe_dump(settings, sort_keys=False))

    def python_m_lab(self, *arguments: str) -> Outcome:
        """`python -m lab` on this instance, as `make` runs it."""
        return self._run([sys.executable, "-m", "lab", "--instance", NAME, *arguments], self.environment)

    def pulumi(self, *arguments: str, **variables: str) -> Outcome:
        """A bare `pulumi`, with what `make env` gives."""
        return self._run([*self._pulumi, *arguments, *self._options], {**self._pulumi_environment, **variables})

    def start_pulumi(self, *arguments: str) -> subprocess.Popen[str]:
        """The same, not waited for."""
        return subprocess.Popen(
            [*self._pulumi, *arguments, *self._options],
            cwd=self.project,
            env=self._pulumi_environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def up(self, **variables: str) -> Outcome:
        return self.pulumi("up", "--yes", "--skip-preview", **variables)

    def cluster(self) -> Cluster:
        return Cluster(self.instance)

    @property
    def state(self) -> Path:
        return self.instance.data / "state" / ".pulumi" / "stacks" / "gpu-commons" / f"{STACK}.json"

    @property
    def _pulumi(self) -> list[str]:
        return [str(engine.bin_folder(self.instance) / "pulumi")]

    @property
    def _options(self) -> list[str]:
        return ["--stack", STACK, "--non-interactive", "--color", "never"]

    @property
    def _pulumi_environment(self) -> dict[str, str]:
        return {**self.environment, **engine.environment(self.instance, self.tools)}

    def _run(self, argv: list[str], environment: dict[str, str]) -> Outcome:
        done = subprocess.run(
            argv,
            cwd=self.project,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=WITHIN_S,
            check=False,
        )
        return Outcome(done.returncode, done.stdout)


def settings() -> Settings:
    """The stack of these tests: the fleet of dsmlp-fall, its runtime, one tiny image and one job; no hub."""
    stack: Settings = yaml.safe_load((ROOT / "stacks" / "Pulumi.dsmlp-fall.yaml").read_text())
    config = stack["config"]
    del config["gpu-commons:hubs"]
    config["gpu-commons:images"] = [{"name": "tiny"}]
    (job,) = config["gpu-commons:jobs"]
    config["gpu-commons:jobs"] = [{**job, "image": "tiny", "command": ["true"]}]
    return stack


def make_project(folder: Path) -> Path:
    """The product by link, with stack files and images of the tests' own."""
    for name in LINKED:
        (folder / name).symlink_to(ROOT / name)
    (folder / ".venv").symlink_to(sys.prefix)
    shutil.copy(ROOT / "Pulumi.yaml", folder)
    shutil.copytree(HERE / "images", folder / "images")
    for module in (ROOT / "images").glob("*.py"):
        (folder / "images" / module.name).symlink_to(module)
    (folder / "stacks").mkdir()
    return folder


