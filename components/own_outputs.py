"""Outputs of this stack after its last complete deployment, read from its state."""

import logging
from collections.abc import Mapping
from typing import Any, Final

import pulumi
import stamina

logging.getLogger("stamina").addHandler(logging.NullHandler())  # otherwise each wait shows as a warning of the update


def _is_being_written(error: Exception) -> bool:
    """The engine saves its state while a program starts; a file backend may briefly show half a file."""
    return "failed to load checkpoint: EOF" in str(error)


_AGAIN: Final = stamina.retry(on=_is_being_written, attempts=6, timeout=10, wait_initial=0.05, wait_max=1)


def own_output(name: str) -> pulumi.Output[Mapping[str, Any]]:
    """An output of this stack that is a mapping, from its last complete update; empty if there is none.

    There is none before the first update and after a destroy. Running and failed updates do not
    change it.
    """
    # The function behind `pulumi.StackReference`, which is a resource: its state is a copy of all outputs, so a
    # refresh would report drift after each change of them.
    function, arguments = _question()

    @_AGAIN
    async def read() -> Mapping[str, Any]:
        return _of_answer(await pulumi.runtime.invoke_async(function, arguments), name)

    return pulumi.Output.from_input(read())


@_AGAIN
def own_output_now(name: str) -> Mapping[str, Any]:
    """The same without waiting, for a program about to end."""
    return _of_answer(pulumi.runtime.invoke(*_question()).value, name)


def _question() -> tuple[str, dict[str, str]]:
    stack = f"{pulumi.get_organization()}/{pulumi.get_project()}/{pulumi.get_stack()}"
    return "pulumi:pulumi:readStackOutputs", {"name": stack}


def _of_answer(answer: Mapping[str, Any] | None, name: str) -> Mapping[str, Any]:
    found = ((answer or {}).get("outputs") or {}).get(name)
    return found if isinstance(found, Mapping) else {}
