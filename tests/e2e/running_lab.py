"""The lab and its stack as tests see them: the API server, the engine, what the stack put out."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from lab.cluster import Cluster

PROJECT = Path(__file__).parents[2]
STACK = "dsmlp-fall"
STACK_FILE = PROJECT / "stacks" / "Pulumi.dsmlp-fall.yaml"
HUB_NAMESPACE = "datahub"

Object = dict[str, Any]
Found = TypeVar("Found")


@dataclass(frozen=True)
class Ended:
    """A command that has ended: its exit code and its two outputs."""

    code: int
    out: str
    err: str

    @property
    def shown(self) -> str:
        """Everything that a person saw."""
        return self.out + self.err

    def events(self) -> list[Object]:
        """Events of a streaming JSON preview, one a line."""
        return [json.loads(line) for line in self.out.splitlines() if line.startswith("{")]

    def errors(self) -> list[str]:
        """Errors of a streamed preview, as people read them."""
        return [each["message"] for each in self._messages() if each["severity"] == "error"]

    def messages(self) -> str:
        """All that a streamed preview showed."""
        return "".join(each["message"] for each in self._messages() if each["severity"] != "debug")

    def steps(self) -> dict[str, Object]:
        """The step of every resource of a streamed preview, by logical name: `op`, `type`, `old`, `new`."""
        steps = [event["resourcePreEvent"]["metadata"] for event in self.events() if "resourcePreEvent" in event]
        return {step["urn"].rpartition("::")[2]: step for step in steps}

    def _messages(self) -> list[Object]:
        return [event["diagnosticEvent"] for event in self.events() if "diagnosticEvent" in event]


@dataclass(frozen=True)
class RunningLab:
    """A lab whose stack is up. The stack is the user's: it is read and previewed, and nothing here changes it."""

    cluster: Cluster
    pulumi: str
    environ: Mapping[str, str]
    outputs: Mapping[str, Any]

    def run(self, *argv: str, cwd: Path = PROJECT, without: str = "", **variables: str) -> Ended:
        """A command with the environment of `make env`, variables added or one taken away."""
        environ = {**self.environ, **variables}
        environ.pop(without, None)
        ended = subprocess.run(
            argv,
            cwd=cwd,
            env=environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        return Ended(ended.returncode, ended.stdout, ended.stderr)

    def preview(self, *options: str, cwd: Path = PROJECT, without: str = "", **variables: str) -> Ended:
        """`pulumi preview` of the stack (or of a stack of that name elsewhere) as a stream of events."""
        argv = (self.pulumi, "preview", "--stack", STACK, "--non-interactive", "--color", "never", "--json", *options)
        stream = {"PULUMI_ENABLE_STREAMING_JSON_PREVIEW": "true"}
        return self.run(*argv, cwd=cwd, without=without, **stream, **variables)

    def credentials(self, hub: str, name: str = "hub-credentials") -> dict[str, str]:
        """Keys and values of a hub's Secret, in clear text."""
        secret = self.cluster.get(f"/api/v1/namespaces/{hub}/secrets/{name}")
        assert secret is not None, f"Secret {name} is not in {hub}: did the stack come up?"
        return {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}

    def pods(self, namespace: str) -> list[Object]:
        return self.cluster.items(f"/api/v1/namespaces/{namespace}/pods")


def wait_for(find: Callable[[], Found | None], *, what: str, within_s: float = 60) -> Found:
    """The first answer that is something. Fails, saying what was waited for."""
    deadline = time.monotonic() + within_s
    while not (found := find()):
        assert time.monotonic() < deadline, f"{what}: not within {within_s:.0f} s"
        time.sleep(0.2)
    return found


def environment_of(variables: Mapping[str, str]) -> dict[str, str]:
    """Ours with the lab's variables; what a person may have set for work of their own does not count."""
    theirs = ("GPU_COMMONS_", "PULUMI_", "PYTHON", "VIRTUAL_ENV", "UV_PROJECT_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(theirs)}
    return {**kept, **variables}
