"""The end of a program: every output is waited for, a failure is not, and the time is linear in their number."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from typing import Any

import pulumi
import pytest
from pulumi.runtime.settings import reset_options, set_root_resource
from pulumi.runtime.stack import run_in_stack

from components.settling import settled

OUTPUTS = 300


class Mocks(pulumi.runtime.Mocks):
    def new_resource(self, args: pulumi.runtime.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        return args.name, args.inputs

    def call(self, args: pulumi.runtime.MockCallArgs) -> Any:
        return args.args


def run(
    declare: Callable[[], object], end: Callable[[], Awaitable[None]] | None = settled, within_s: float = 30
) -> None:
    """Run a program as the engine's language host does."""

    def program() -> None:
        declare()
        if end:
            pulumi.run(end)

    async def whole() -> None:
        reset_options()
        pulumi.runtime.set_mocks(Mocks(), preview=True)
        set_root_resource(None)  # mocks bring a stack of their own
        running = asyncio.create_task(run_in_stack(program))
        await asyncio.wait([running], timeout=within_s)
        assert running.done(), f"the program has not ended after {within_s} s"
        running.result()

    asyncio.run(whole())


async def after(delay_s: float, value: int) -> int:
    await asyncio.sleep(delay_s)
    return value


async def fails_after(delay_s: float) -> int:
    await asyncio.sleep(delay_s)
    raise RuntimeError("no such zone")


def output(computed: Any) -> pulumi.Output[int]:
    return pulumi.Output.from_input(computed)


def many_outputs() -> None:
    """One is known after the other, as while resources are registered."""
    for number in range(OUTPUTS):
        output(after(number / 1000, number))


def looks(monkeypatch: pytest.MonkeyPatch, end: Callable[[], Awaitable[None]] | None) -> int:
    """How often an output is looked at while a program with many ends."""
    counted, wait = [], asyncio.wait

    async def counting(fs: Collection[Any], **options: Any) -> Any:
        counted.append(len(fs))
        return await wait(fs, **options)

    monkeypatch.setattr(asyncio, "wait", counting)
    run(many_outputs, end)
    return sum(counted)


@pytest.mark.slow
def test_an_output_is_looked_at_a_few_times_however_many_others_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    assert looks(monkeypatch, settled) < 5 * OUTPUTS


@pytest.mark.slow
def test_the_sdk_alone_looks_at_every_output_whenever_one_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    # Where this fails, the SDK waits in linear time itself: remove components/settling.py and what uses it.
    assert looks(monkeypatch, None) > 20 * OUTPUTS


def test_outputs_that_are_made_while_others_are_waited_for_are_waited_for() -> None:
    known: list[int] = []

    def make_another(value: int) -> int:
        output(after(0.05, value + 1)).apply(known.append)
        return value

    run(lambda: output(after(0.05, 1)).apply(make_another))
    assert known == [2]


@pytest.mark.slow
@pytest.mark.parametrize("is_made_later", [False, True], ids=["from the start", "made while others are waited for"])
def test_a_failure_ends_the_program_while_others_are_not_known(is_made_later: bool) -> None:
    def make_one_that_fails(value: int) -> int:
        output(fails_after(0.05))
        return value

    def declare() -> None:
        output(after(3600, 0))
        if is_made_later:
            output(after(0.05, 1)).apply(make_one_that_fails)
        else:
            output(fails_after(0.05))
            output(after(0.1, 1))

    with pytest.raises(RuntimeError, match="no such zone"):
        run(declare, within_s=5)
