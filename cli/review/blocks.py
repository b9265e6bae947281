"""The blocks of a review's page. A renderer decides how each looks."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final


@dataclass(frozen=True, slots=True)
class Code:
    """A value, shown as it is written."""

    text: str


BREAK: Final = "\n"  # a separate part: the next one starts on a new line if it may

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
    """A line with its sub-lines."""

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
    """Blocks that stay closed until a reader opens one."""

    title: str
    blocks: tuple[Bullets | Table, ...]


@dataclass(frozen=True, slots=True)
class Diff:
    """The whole diff, folded, grouped by resource."""

    title: str
    resources: Iterable[tuple[str, ...]] = field(compare=False)  # built only when read


Block = Heading | Paragraph | Quote | Bullets | Table | Fold | Diff
