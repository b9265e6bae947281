"""The blocks that a page of a review is made of. How a block looks is a renderer's business."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Code:
    """A value, to be shown as it is written."""

    text: str


BREAK: Final = "\n"  # a separate part: the next one begins a line, where there may be lines

Inline = tuple[str | Code, ...]


@dataclass(frozen=True, slots=True)
class Heading:
    text: str


@dataclass(frozen=True, slots=True)
class Paragraph:
    parts: Inline
    is_strong: bool = False


@dataclass(frozen=True, slots=True)
class Quote:
    """Lines as the program wrote them."""

    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bullet:
    """A line, and lines below it that belong to it."""

    line: Inline
    below: tuple[Inline, ...] = ()


@dataclass(frozen=True, slots=True)
class Bullets:
    items: tuple[Bullet, ...]


@dataclass(frozen=True, slots=True)
class Table:
    head: tuple[str, ...]
    rows: tuple[tuple[Inline, ...], ...]


@dataclass(frozen=True, slots=True)
class Fold:
    """Blocks that are closed until somebody opens them."""

    title: str
    blocks: tuple[Bullets | Table, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """The whole diff, folded: lines of each resource together."""

    title: str
    resources: Iterable[tuple[str, ...]] = field(compare=False)  # made when they are read


Block = Heading | Paragraph | Quote | Bullets | Table | Fold | Diff
