"""A review for a terminal."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from itertools import islice
from typing import Final

from cli.review import blocks, page
from cli.review.document import Review
from cli.words import folded

_MOST_RESOURCES: Final = 200  # of the diff


def review_text(review: Review, today: dt.date, width: int | None) -> str:
    """Lines of at most `width` columns; None: they stay whole."""
    if (line := page.one_line(review)) is not None:
        return _clean(line)
    return "\n".join(
        [
            _clean(page.title(review)),
            *(line for block in page.blocks_of(review, today) for line in _lines(block, width)),
        ]
    )


def _lines(block: blocks.Block, width: int | None) -> Iterator[str]:
    match block:
        case blocks.Heading(text):
            yield f"\n{text}"
        case blocks.Paragraph(parts):
            yield from folded(_plain(parts), "", "", width)
        case blocks.Table():
            yield from _table(block, width)
        case blocks.Fold(title=head, blocks=inner):
            yield f"  {head}:"
            for each in inner:
                yield from _lines(each, width)
        case blocks.Quote(lines):
            yield from (f"  {_clean(line)}" for line in lines)
        case blocks.Diff():
            yield from _diff(block)
        case blocks.Bullets():
            yield from _bullets(block, width)


def _table(block: blocks.Table, width: int | None) -> Iterator[str]:
    for row in block.rows:
        yield from folded(_plain(row[0]), "  ", "    ", width)
        for head, cell in zip(block.head[1:], row[1:], strict=True):
            if content := _plain(cell):
                yield from folded(f"{head}: {content}", "    ", "      ", width)


def _bullets(block: blocks.Bullets, width: int | None) -> Iterator[str]:
    for item in block.items:
        yield from folded(_plain(item.line), "  - ", "    ", width)
        for line in item.below:
            yield from folded(_plain(line), "      ", "      ", width)


def _diff(block: blocks.Diff) -> Iterator[str]:
    yield f"\n{block.title}"
    resources = iter(block.resources)
    for resource in islice(resources, _MOST_RESOURCES):
        yield from (_clean(line) for line in resource)
    if next(resources, None) is not None:
        yield "… and more: see the log of the preview"


def _plain(parts: blocks.Inline) -> str:
    texts = (part.text if isinstance(part, blocks.Code) else "; " if part == blocks.BREAK else part for part in parts)
    return _clean("".join(texts)).strip()


def _clean(text: str) -> str:
    """Nothing in it moves the cursor."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
