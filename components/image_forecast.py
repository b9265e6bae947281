"""What a preview says of an image that will be built: how big it will be, and how soon it will have started.

Of an image that stays as it is, nothing is printed and nothing is requested.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pulumi

from imaging.size.expected import Expected
from imaging.size.forecast import Deployed, Speed, first_starts, forecast
from imaging.size.measured import size_of
from imaging.size.pushed import known, size_of_tag


@dataclass(frozen=True, slots=True)
class Unbuilt:
    """An image before its build. `tag` is looked up in its registry; None: it is not."""

    name: str
    root: str  # the base of somebody else's that it stands on
    expected: Expected
    tag: str | None


def tell_forecast(
    image: pulumi.Resource,
    unbuilt: Unbuilt,
    digest: pulumi.Output[str],
    deployed: pulumi.Output[Any],
    speeds: Sequence[Speed],
) -> pulumi.Output[bool]:
    """One message of the resource, if the engine does not know the digest and so will build it; was there one?

    For previews. The program does not end before the answer is known.
    """

    async def tell() -> bool:
        if await digest.is_known():
            return False
        registry, base = await asyncio.gather(
            asyncio.to_thread(size_of_tag, unbuilt.tag) if unbuilt.tag else _nothing(),
            asyncio.to_thread(known, unbuilt.root),
        )
        found = forecast(
            unbuilt.expected,
            registry=registry,
            deployed=Deployed.read(await deployed.future()),
            base=size_of(base) if base else None,
        )
        lines = [f"{unbuilt.name} will be built: {found.says}", *first_starts(found, speeds)]
        pulumi.log.info("\n".join(lines), image)
        return True

    return pulumi.Output.from_input(tell())


async def _nothing() -> None:
    return None
