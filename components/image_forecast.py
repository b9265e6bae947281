"""Size and first start time of an image that a preview is about to build.

Prints and requests nothing for an unchanged image.
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
    """An image before its build. `tag` is looked up in its registry, unless None."""

    name: str
    root: str  # the external base image
    expected: Expected
    tag: str | None


def tell_forecast(
    image: pulumi.Resource,
    unbuilt: Unbuilt,
    digest: pulumi.Output[str],
    deployed: pulumi.Output[Any],
    speeds: Sequence[Speed],
) -> pulumi.Output[bool]:
    """Log one message if the engine does not know the digest and so will build the image; returns whether it did.

    For previews. The program waits for the answer before it ends.
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
