"""A program reads the outputs that its own stack had when it was deployed last."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import grpc
import pulumi
import pytest
from pulumi.runtime.settings import reset_options
from pulumi.runtime.stack import run_pulumi_func

from components.own_outputs import own_output, own_output_now


class State(pulumi.runtime.Mocks):
    """An engine whose state has these outputs. It owns no resource of this program."""

    def __init__(self, answer: Mapping[str, Any]) -> None:
        self.answer = answer
        self.calls: list[tuple[str, Mapping[str, Any]]] = []

    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str | None, dict[str, Any]]:
        raise AssertionError(f"{args.typ} would be a line of every diff")

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]]]:
        self.calls.append((args.token, dict(args.args)))
        return dict(self.answer), []


def read(state: State) -> Any:
    found: list[Any] = []

    async def run() -> None:
        reset_options()
        pulumi.runtime.set_mocks(state, project="gpu-commons", stack="dsmlp-fall", preview=True)
        outputs: list[pulumi.Output[Any]] = []
        await run_pulumi_func(lambda: outputs.append(own_output("image_sizes")))
        found.append(await outputs[0].future())

    asyncio.run(run())
    return found[0]


def test_the_last_outputs_are_read_from_the_engine_and_are_no_resource() -> None:
    state = State({"outputs": {"image_sizes": {"hub": {"compressed_mb": 47.5}}, "gpus": 119}})
    assert read(state) == {"hub": {"compressed_mb": 47.5}}
    ((function, arguments),) = state.calls
    assert function == "pulumi:pulumi:readStackOutputs"
    assert arguments["name"].endswith("/gpu-commons/dsmlp-fall")


@pytest.mark.parametrize("answer", [{}, {"outputs": {}}, {"outputs": {"image_sizes": 7}}])
def test_a_stack_without_that_output_has_an_empty_one(answer: Mapping[str, Any]) -> None:
    assert read(State(answer)) == {}


def test_they_can_be_read_at_once_where_a_program_is_about_to_end() -> None:
    found: list[Any] = []

    async def run() -> None:
        reset_options()
        state = State({"outputs": {"nodes": {"rtx2080ti": ["n18", "n24"]}}})
        pulumi.runtime.set_mocks(state, project="gpu-commons", stack="dsmlp-fall", preview=True)
        await run_pulumi_func(lambda: found.append(own_output_now("nodes")))

    asyncio.run(run())
    assert found == [{"rtx2080ti": ["n18", "n24"]}]


class EngineError(grpc.RpcError):
    """As the engine answers a question that fails."""

    def __init__(self, details: str) -> None:
        self._details = details

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return self._details


class Failing(State):
    """An engine that cannot read its state in its first calls."""

    def __init__(self, answer: Mapping[str, Any], why: str, times: int) -> None:
        super().__init__(answer)
        self.why, self.times = why, times

    def call(self, args: pulumi.runtime.MockCallArgs) -> tuple[dict[Any, Any], list[tuple[str, str]]]:
        answer = super().call(args)
        if len(self.calls) <= self.times:
            raise EngineError(self.why)
        return answer


@pytest.mark.slow
def test_a_state_that_is_being_saved_is_read_again() -> None:
    outputs = {"outputs": {"image_sizes": {"hub": {"compressed_mb": 47.5}}}}
    state = Failing(outputs, "failed to load checkpoint: EOF", times=2)
    assert read(state) == {"hub": {"compressed_mb": 47.5}}
    assert len(state.calls) == 3


def test_another_failure_is_not_tried_again() -> None:
    state = Failing({}, "failed to load checkpoint: permission denied", times=9)
    with pytest.raises(Exception, match="permission denied"):
        read(state)
    assert len(state.calls) == 1
