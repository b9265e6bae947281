"""A lab beside the user's, with a project of its own: the real program by link, a stack file and a tiny image.

Commands run as a user runs them, `python -m lab` and a bare `pulumi`, and come back with exit code and text.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import yaml

from lab import engine, processes, state
from lab.cluster import Cluster, Object, name_of, wait_until
from lab.instance import Instance, cache_home, state_home
from lab.toolchain import Toolchain

ROOT = Path(__file__).parents[2]
HERE = Path(__file__).parent
NAME = "faults"
STACK = "small"
LINKED = (
    *("compat", "components", "errors", "fleet", "imaging", "lab", "platforms", "policies", "settings", "workloads"),
    *("__main__.py", "pyproject.toml", "uv.lock"),
)
WITHIN_S = 150

Settings = dict[str, Any]


@dataclass(frozen=True)
class Outcome:
    """How a command ended and all that it printed, both streams in order."""

    code: int
    text: str

    def succeeded(self) -> str:
        assert self.code == 0, self.text
        return self.text

    def refused(self) -> str:
        """The text of a failure that people can read: exit code not 0, no traceback."""
        assert self.code != 0, self.text
        assert "Traceback" not in self.text, self.text
        return self.text


@dataclass
class Lab:
    """The second lab and its project."""

    instance: Instance
    tools: Toolchain
    project: Path
    fresh_nodes: dict[str, Object] = field(default_factory=dict)  # as they were before any stack touched them

    # --- commands

    def python_m_lab(self, *arguments: str) -> Outcome:
        """`python -m lab` on this lab, as `make` runs it."""
        return self._run([sys.executable, "-m", "lab", "--instance", NAME, *arguments], self._own_environment)

    def start(self) -> str:
        """`make up` without a stack and without a real node: every server, every node."""
        return self.python_m_lab("up", "--simulated", "--without-stack", "--stack", STACK).succeeded()

    def pulumi(self, *arguments: str, **variables: str) -> Outcome:
        """A bare `pulumi`, with what `make env` gives."""
        return self._run([*self._pulumi(arguments)], {**self._pulumi_environment, **variables})

    def start_pulumi(self, *arguments: str) -> subprocess.Popen[str]:
        """The same, not waited for."""
        return subprocess.Popen(
            self._pulumi(arguments),
            cwd=self.project,
            env=self._pulumi_environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def up(self, **variables: str) -> Outcome:
        return self.pulumi("up", "--yes", "--skip-preview", **variables)

    def _pulumi(self, arguments: Iterable[str]) -> list[str]:
        placed = engine.bin_folder(self.instance) / "pulumi"
        program = placed if placed.exists() else self.tools.path("pulumi")
        return [str(program), *arguments, "--stack", STACK, "--non-interactive", "--color", "never"]

    @property
    def _own_environment(self) -> dict[str, str]:
        """Ours without anything of the lab whose tests these are."""
        foreign = ("GPU_COMMONS_", "PULUMI_", "KUBECONFIG", "DOCKER_CONFIG")
        kept = {name: value for name, value in os.environ.items() if not name.startswith(foreign)}
        labs = (str(state_home()), str(cache_home()))
        path = [part for part in os.environ.get("PATH", "").split(":") if not part.startswith(labs)]
        return {**kept, "PATH": ":".join(path), "GPU_COMMONS_STACKS": str(self.project / "stacks")}

    @property
    def _pulumi_environment(self) -> dict[str, str]:
        return {**self._own_environment, **engine.environment(self.instance, self.tools)}

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

    # --- the project

    def write(self, stack: Settings) -> None:
        """The stack file, whole."""
        path = self.project / "stacks" / f"Pulumi.{STACK}.yaml"
        path.write_text(yaml.safe_dump(stack, sort_keys=False))

    # --- what is there

    def resources(self) -> dict[str, dict[str, Any]]:
        """What the stack's state says of each resource that it owns, by URN. Nodes that it only reads are not its."""
        found = [each for each in self._deployment().get("resources", []) if not each.get("external")]
        # The engine writes dependencies in the order in which it heard of them.
        return {each["urn"]: {**each, "dependencies": sorted(each.get("dependencies") or [])} for each in found}

    def pending(self) -> list[str]:
        """Names of the resources that an ended engine was busy with."""
        waiting = self._deployment().get("pending_operations") or []
        return [operation["resource"]["urn"].rsplit("::", 1)[1] for operation in waiting]

    def locks(self) -> list[Path]:
        return sorted((state.folder(self.instance) / ".pulumi" / "locks").rglob("*.json"))

    def exists(self) -> bool:
        return self.state_file.exists()

    def _deployment(self) -> dict[str, Any]:
        return dict(json.loads(self.state_file.read_text())["checkpoint"].get("latest") or {})

    @property
    def state_file(self) -> Path:
        return state.stack_file(self.instance, STACK)

    def nodes(self) -> dict[str, Object]:
        """Labels, annotations and spec of every node: all that somebody else than the node itself may set."""
        with Cluster(self.instance) as cluster:
            return {
                name_of(node): {
                    "labels": node["metadata"].get("labels", {}),
                    "annotations": node["metadata"].get("annotations", {}),
                    "spec": node.get("spec", {}),
                }
                for node in cluster.nodes()
            }

    def items(self, path: str) -> dict[str, str]:
        """Unique ids of the objects of a collection, by name."""
        with Cluster(self.instance) as cluster:
            return {name_of(each): each["metadata"]["uid"] for each in cluster.items(path)}

    def running(self) -> dict[str, int]:
        """PIDs of the servers that run, by name."""
        return {record.name: record.pid for record in processes.records(self.instance) if record.process()}

    def kill(self, *names: str) -> None:
        """`kill -9` of servers of this lab; returns when they have ended."""
        for name, pid in self.running().items():
            if name in names:
                os.kill(pid, signal.SIGKILL)
        wait_until(lambda: set(self.running()) & set(names), within_s=10, what="servers that outlived kill -9")

    def processes(self) -> list[str]:
        """Command lines of all processes on this machine that name this lab's folder."""
        lines = [process.info["cmdline"] or [] for process in psutil.process_iter(["cmdline"])]
        return [" ".join(line) for line in lines if any(str(self.instance.home) in word for word in line)]


def settings() -> Settings:
    """The stack of these tests: the fleet of dsmlp-fall and its runtime, one tiny image, one job; no hub, no course."""
    stack: Settings = yaml.safe_load((ROOT / "stacks" / "Pulumi.dsmlp-fall.yaml").read_text())
    config = stack["config"]
    del config["gpu-commons:hubs"], config["gpu-commons:courses"]
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
    (folder / "stacks").mkdir()
    return folder


def read_until(process: subprocess.Popen[str], text: str) -> None:
    """Read what a command says up to the line that holds `text`. Fails with all of it when there is none."""
    lines = []
    for line in process.stdout or ():
        lines.append(line)
        if text in line:
            return
    raise AssertionError(f"it never said {text!r}, but:\n{''.join(lines)}")
