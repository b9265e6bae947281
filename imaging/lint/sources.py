"""The images that a recipe uses."""

from __future__ import annotations

from collections.abc import Iterator

from imaging.lint.recipe import Recipe


def image_references(recipe: Recipe) -> Iterator[tuple[str, int]]:
    """Every registry image that the recipe builds on or copies from, with its line; no stages or open variables."""
    names = {stage.name.lower() for stage in recipe.stages if stage.name}
    for stage in recipe.stages:
        if stage.is_base_known:
            yield stage.base, stage.line
        for instruction in stage.instructions:
            sources = [(instruction.flags.get("from", ""), instruction.line)]
            sources += [(mount.get("from", ""), instruction.line) for mount in instruction.mounts]
            for text, line in sources:
                # A plain word may be a named build context; only text like a reference counts.
                if ("/" in text or ":" in text) and "$" not in text and text.lower() not in names:
                    yield text, line
