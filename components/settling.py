"""Ends a program with many outputs in linear time; Pulumi's SDK waits for them in quadratic time."""

import asyncio
from typing import Any

from pulumi.runtime.settings import SETTINGS

# Maximum delay in noticing the failure of a new output that no other output waits for.
_LOOK_AGAIN_S = 1.0


async def settled() -> None:
    """Wait until every output is known or one has failed: `pulumi.run(settled)`, after everything is declared.

    SDK 3.259 checks all remaining outputs whenever one becomes known (`wait_for_rpcs`). It still does so
    afterwards, and decides as before what a failure means, but finds few outputs left.
    """
    while (pending := _unfinished()) and not _has_failure():
        await asyncio.wait(pending, timeout=_LOOK_AGAIN_S, return_when=asyncio.FIRST_EXCEPTION)


def _outputs() -> list["asyncio.Future[Any]"]:
    """Unknown or failed outputs: the SDK drops the others."""
    with SETTINGS.lock:
        return list(SETTINGS.outputs)


def _unfinished() -> list["asyncio.Future[Any]"]:
    return [each for each in _outputs() if not each.done()]


def _has_failure() -> bool:
    return any(each.cancelled() or each.exception() for each in _outputs() if each.done())
