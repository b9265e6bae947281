"""A lab of its own for one stack, brought up by the command itself, in a folder that is gone afterwards."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import engine, processes, steps
from lab.instance import RECORD, Instance, find_instance, state_home, stored_instance
from lab.toolchain import Toolchain
from tests.slots import WORKER, free_slot, ports

PROJECT = Path(__file__).parents[1]
NAME = f"own-{WORKER}"
LAB = [sys.executable, "-m", "lab", "--instance", NAME]


@dataclass(frozen=True)
class OwnLab:
    """A stack in it. `output` is what its first `up` printed."""

    stack: str
    output: str
    project: Path = PROJECT

    @property
    def instance(self) -> Instance:
        return find_instance(NAME)

    def up(self) -> str:
        return up(self.stack, self.project)

    def shell(self) -> dict[str, str]:
        """The environment of a shell after `make env`."""
        return {**os.environ, **engine.environment(self.instance, Toolchain()), **_stacks(self.project)}

    def pulumi(self, *words: str, shell: dict[str, str] | None = None) -> str:
        """A bare `pulumi` in such a shell; LabError with its output where it fails."""
        return processes.run(self._command(words), cwd=self.project, env=shell or self.shell(), timeout_s=600)

    def refused(self, *words: str, **variables: str) -> str:
        """The whole output of a bare `pulumi` that failed, on one line."""
        done = subprocess.run(
            self._command(words),
            cwd=self.project,
            env={**self.shell(), **variables},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode != 0, done.stdout
        return " ".join(f"{done.stdout} {done.stderr}".split())

    def output_of(self, name: str) -> Any:
        """An output of the stack."""
        return json.loads(self.pulumi("stack", "output", name, "--json"))

    def docker(self, *words: str) -> str:
        """The engine's own command, on the lab's engine, and all that it prints."""
        done = subprocess.run(["docker", *words], env=self.shell(), capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def _command(self, words: Sequence[str]) -> list[str]:
        return [engine.program(self.instance, Toolchain()), *words, "--stack", self.stack, "--non-interactive"]


def up(stack: str, project: Path = PROJECT) -> str:
    """`make up` of that stack, and its output."""
    return processes.run([*LAB, "up", "--stack", stack], cwd=project, env=_stacks(project), timeout_s=1200)


def _stacks(project: Path) -> dict[str, str]:
    """Where a project other than this one has its stack files."""
    return {} if project == PROJECT else {"GPU_COMMONS_STACKS": str(project / "stacks")}


def changes(output: str) -> bool:
    """Whether an `up` changed anything."""
    assert re.search(r"^ +.*\d+ unchanged in", output, re.MULTILINE), output[-2000:]
    return bool(re.search(r"\d+ (created|updated|replaced|deleted)", output))


def lender() -> Instance | None:
    """The lab whose tests these are, where its registry and BuildKit run: all labs of a run build each image once."""
    instance = stored_instance(state_home() / os.environ.get("GPU_COMMONS_LAB", NAME))
    runs = instance and all(processes.is_running(instance, name) for name in steps.OF_EVERY_LAB)
    return instance if runs else None


def claim(slot: int, lent: Instance | None) -> None:
    """Addresses and ports far from those of the labs that other workers start at the same time."""
    home = state_home() / NAME
    home.mkdir(parents=True)
    record = {"name": NAME, "slot": slot, "ports": ports(slot)}
    if lent:
        record |= {"ports": {**ports(slot), "registry": lent.ports["registry"]}, "lender": str(lent.home)}
    (home / RECORD).write_text(json.dumps(record))


@contextmanager
def own_lab(stack: str, project: Path = PROJECT) -> Iterator[OwnLab]:
    """That stack of a project, up. The folder's path is short, because sockets lie below it."""
    before, lent = os.environ.get("XDG_STATE_HOME"), lender()
    with free_slot() as slot, tempfile.TemporaryDirectory(prefix="gc-") as folder:
        os.environ["XDG_STATE_HOME"] = folder
        claim(slot, lent)
        try:
            yield OwnLab(stack, up(stack, project), project)
        finally:
            processes.run([*LAB, "clean"], cwd=PROJECT)
            os.environ.pop("XDG_STATE_HOME")
            if before is not None:
                os.environ["XDG_STATE_HOME"] = before
