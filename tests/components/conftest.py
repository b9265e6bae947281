"""Runs a component under Pulumi's mocks and keeps what it registered: sealed, one event loop a run."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pulumi
import pytest
from pulumi.runtime.settings import reset_options
from pulumi.runtime.stack import run_pulumi_func

PROJECT = Path(__file__).parents[2]
sys.path.insert(0, str(Path(__file__).parent))  # for running_engine.py: folders of tests are no packages here


@dataclass(frozen=True)
class Registered:
    """One resource as the engine would get it."""

    type: str
    name: str
    inputs: dict[str, Any]


@dataclass
class Recording(pulumi.runtime.Mocks):
    """Every resource in the order of registration; reads answer from `existing`, by their id; patches too."""

    existing: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    computed: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # what a provider adds, by type
    answers: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)  # of functions, by token
    resources: list[Registered] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    outputs: dict[str, Any] = field(default_factory=dict)

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        if args.resource_id:
            self.reads.append(args.name)
            return args.resource_id, dict(self.existing[args.resource_id])
        inputs = dict(args.inputs)
        self.resources.append(Registered(args.typ, args.name, inputs))
        added = self.computed.get(args.typ, {})
        return f"{args.name}-id", self._patched(inputs) if args.typ.endswith("Patch") else {**inputs, **added}

    def _patched(self, patch: dict[str, Any]) -> dict[str, Any]:
        """The whole object with the patch in it; a patch of what is not there makes it."""
        metadata = patch["metadata"]
        before = self.existing.get(metadata["name"], {})
        theirs = before.get("metadata", {})
        labels = {**theirs.get("labels", {}), **metadata.get("labels", {})}
        return {**before, **patch, "metadata": {**theirs, **metadata, "labels": labels}}

    def call(self, args: pulumi.runtime.MockCallArgs) -> dict[str, Any]:
        return {**args.args, **self.answers.get(args.token, {})}

    def of_type(self, suffix: str) -> list[Registered]:
        """By name: the order in which the engine heard of them is no fact of the program."""
        found = (resource for resource in self.resources if resource.type.endswith(suffix))
        return sorted(found, key=lambda resource: resource.name)

    def only(self, suffix: str) -> Registered:
        (resource,) = self.of_type(suffix)
        return resource


def _record(
    program: Callable[[], Mapping[str, pulumi.Output[Any]] | None],
    *,
    preview: bool = False,
    existing: Mapping[str, Mapping[str, Any]] | None = None,
    computed: Mapping[str, Mapping[str, Any]] | None = None,
    answers: Mapping[str, Mapping[str, Any]] | None = None,
) -> Recording:
    """Run `program` and return what it registered; the outputs it returns are resolved (None when unknown)."""
    recording = Recording(existing or {}, computed or {}, answers or {})

    async def run() -> None:
        reset_options()
        pulumi.runtime.set_mocks(recording, project="tests", stack="tests", preview=preview)
        returned: dict[str, pulumi.Output[Any]] = {}
        await run_pulumi_func(lambda: returned.update(program() or {}))
        for name, output in returned.items():
            recording.outputs[name] = await output.future(with_unknowns=False)

    asyncio.run(run())
    return recording


@pytest.fixture
def recorded() -> Callable[..., Recording]:
    """`recorded(program, preview=..., existing=...)` runs a program under mocks and returns its Recording."""
    return _record


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The whole program, with no outputs of an earlier run."""
    spec = importlib.util.spec_from_file_location("program", PROJECT / "__main__.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.chdir(PROJECT)
    monkeypatch.setattr(module, "own_output", lambda _: pulumi.Output.from_input({}))
    return module
