"""The end of a program with many outputs: Pulumi's SDK waits for them in quadratic time, this module in linear time."""

import asyncio
from typing import Any

from pulumi.runtime.settings import SETTINGS

# So late at most is a failure noticed of an output that was made since the last look, and that no other waits for.
_LOOK_AGAIN_S = 1.0


async def settled() -> None:
    """Wait until every output is known or one has failed: `pulumi.run(settled)`, after everything is declared.

    SDK 3.259 looks at all outputs that are left whenever one of them is known (`wait_for_rpcs`). It still does so
    after this, and decides as before what a failure means, but finds few outputs left.
    """
    while (pending := _unfinished()) and not _has_failure():
        await asyncio.wait(pending, timeout=_LOOK_AGAIN_S, return_when=asyncio.FIRST_EXCEPTION)


def _outputs() -> list["asyncio.Future[Any]"]:
    """Those that are not known yet, or failed: the SDK drops the others."""
    with SETTINGS.lock:
        return list(SETTINGS.outputs)


def _unfinished() -> list["asyncio.Future[Any]"]:
    return [each for each in _outputs() if not each.done()]


def _has_failure() -> bool:
    return any(each.cancelled() or each.exception() for each in _outputs() if each.done())
