"""A review for a terminal."""

import datetime as dt
from collections.abc import Iterator
from itertools import islice
from typing import Final

from cli.review import page
from cli.review.document import Review
from cli.words import folded

_MOST_RESOURCES: Final = 200  # of the diff


def review_text(review: Review, today: dt.date, width: int | None) -> str:
    """Lines of at most `width` columns; None: they stay whole."""
    if (line := page.one_line(review)) is not None:
        return _clean(line)
    lines = (line for block in page.blocks_of(review, today) for line in _lines(block, width))
    return "\n".join([_clean(page.title(review)), *lines])


def _lines(block: page.Block, width: int | None) -> Iterator[str]:
    match block:
        case page.Heading(text):
            yield f"\n{text}"
        case page.Paragraph(parts):
            yield from folded(_plain(parts), "", "", width)
        case page.Quote(lines):
            yield from (f"  {_clean(line)}" for line in lines)
        case page.Bullets():
            yield from [f"  {block.title}:"] if block.title else []
            yield from _bullets(block, width)
        case page.Table():
            yield from _table(block, width)
        case page.Diff(head, groups):
            yield f"\n{head}"
            resources = iter(groups)
            yield from (_clean(line) for resource in islice(resources, _MOST_RESOURCES) for line in resource)
            if next(resources, None) is not None:
                yield "… and more: see the log of the preview"


def _bullets(block: page.Bullets, width: int | None) -> Iterator[str]:
    for first, *below in block.items:
        yield from folded(_plain(first), "  - ", "    ", width)
        for line in below:
            yield from folded(_plain(line), "      ", "      ", width)


def _table(table: page.Table, width: int | None) -> Iterator[str]:
    for row in table.rows:
        yield from folded(_plain(row[0]), "  ", "    ", width)
        for head, cell in zip(table.head[1:], row[1:], strict=True):
            if content := _plain(cell):
                yield from folded(f"{head}: {content}", "    ", "      ", width)


def _plain(parts: page.Inline) -> str:
    texts = (part.text if isinstance(part, page.Code) else "; " if part == page.BREAK else part for part in parts)
    return _clean("".join(texts)).strip()


def _clean(text: str) -> str:
    """Nothing in it moves the cursor."""
    return "".join(sign if sign.isprintable() else " " for sign in text)
