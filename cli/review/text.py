"""A review for a terminal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import islice
from typing import Final

from cli.reports.words import folded
from cli.review.document import Review
from cli.review.page import (
    Block,
    Code,
    Diff,
    Fold,
    Heading,
    Inline,
    Paragraph,
    Quote,
    Table,
    blocks_of,
    one_line,
    title,
)

_MOST_RESOURCES: Final = 200  # of the diff


def review_text(review: Review, today: dt.date, width: int | None) -> str:
    """Lines of at most `width` columns; None: they stay whole."""
    if (line := one_line(review)) is not None:
        return _clean(line)
    return "\n".join(
        [_clean(title(review)), *(line for block in blocks_of(review, today) for line in _lines(block, width))]
    )


def _lines(block: Block, width: int | None) -> Iterator[str]:
    if isinstance(block, Heading):
        yield f"\n{block.text}"
    elif isinstance(block, Paragraph):
        yield from folded(_plain(block.parts), "", "", width)
    elif isinstance(block, Table):
        for row in block.rows:
            cells = [
                f"{head}: {_plain(cell)}" for head, cell in zip(block.head[1:], row[1:], strict=True) if _plain(cell)
            ]
            yield from folded(_plain(row[0]), "  ", "    ", width)
            for cell in cells:
                yield from folded(cell, "    ", "      ", width)
    elif isinstance(block, Fold):
        yield f"  {block.title}:"
        for each in block.blocks:
            yield from _lines(each, width)
    elif isinstance(block, Quote):
        yield from (f"  {_clean(line)}" for line in block.lines)
    elif isinstance(block, Diff):
        yield f"\n{block.title}"
        for resource in islice(block.resources, _MOST_RESOURCES):
            yield from (_clean(line) for line in resource)
        if next(iter(block.resources), None) is not None:
            yield "… and more: the log of the preview has all of it"
    else:
        for item in block.items:
            yield from folded(_plain(item.line), "  - ", "    ", width)
            for line in item.below:
                yield from folded(_plain(line), "      ", "      ", width)


def _plain(parts: Inline) -> str:
    return _clean("".join(part.text if isinstance(part, Code) else part for part in parts)).strip()


def _clean(text: str) -> str:
    """Nothing in it moves the cursor."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
