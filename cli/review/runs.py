"""The page's section on where images run: image-pool pairs before and after."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from cli.review.blocks import BREAK, Block, Bullet, Bullets, Code, Heading, Inline, Paragraph, Table
from cli.review.cells import Cell
from cli.review.document import Review
from cli.review.values import names_of
from cli.words import counted
from compat import Verdict
from policies.report import image_subject

RUN_RULE: Final = "P-RUN"
_MOST_NAMES: Final = 6
_RUNS: Final = {
    Verdict.COMPATIBLE: "✓ runs",
    Verdict.WITH_WARNING: "! runs, with a limit",
    Verdict.UNKNOWN: "? not known",
    Verdict.INCOMPATIBLE: "✕ does not run",
}


def run_blocks(review: Review) -> Iterator[Block]:
    """Changed image-pool pairs, what would make them run, and what is new."""
    cells = review.cells
    if cells.changed:
        yield Heading("Where images run")
        yield Table(("image", "pools", "change", "why"), tuple(_cell_rows(cells.changed)))
        # A policy that refuses the image already says what to change.
        covered = {finding.about for finding in review.findings if finding.rule == RUN_RULE}
        left = [cell for cell in reversed(cells.changed) if cell.is_broken and image_subject(cell.image) not in covered]
        ways = {cell.image: _way(cell) for cell in left}
        if bullets := tuple(Bullet((Code(name), f": {way}")) for name, way in ways.items() if way):
            yield Paragraph(("What would make it run:",))
            yield Bullets(bullets)
    elif cells.pairs:
        yield Heading("Where images run")
        run = f"{cells.running:,} of {counted(cells.pairs, 'pair')} of image and pool run"
        yield Paragraph((f"Nothing changes: {run}, as before." if cells.has_before else f"{run}.",))
    elif cells.fresh:
        yield Heading("Where images run")
    if cells.fresh:
        yield Paragraph((f"New: {'; '.join(_fresh(cells.fresh))}.",))
    if cells.not_compared:
        yield Paragraph((f"Not compared: {'; '.join(cells.not_compared)}.",))


def _way(cell: Cell) -> str:
    """The remedies, nearest first: going back."""
    back, other = f"{cell.back[:1].upper()}{cell.back[1:]}", cell.remedy
    if not back or not other:
        return f"{back}." if back else other
    return f"{back}, or {other[:1].lower()}{other[1:]}"


def _cell_rows(cells: Sequence[Cell]) -> Iterator[tuple[Inline, ...]]:
    """Pools on which an image does the same for the same reason share a row."""
    groups: dict[tuple[object, ...], list[Cell]] = {}
    for cell in cells:
        groups.setdefault((cell.image, cell.before, cell.after, cell.reason, cell.is_broken), []).append(cell)
    for group in groups.values():
        cell = group[0]
        now = _RUNS[cell.after]
        change = f"new: {now}" if cell.before is None else f"{_RUNS[cell.before]} → {now}"
        uses = sorted({use for each in group for use in each.uses})
        started = f"Started there by {names_of(uses)}" if uses else "Nobody in this stack starts it there"
        why = (f"{cell.reason.rstrip('.')}.", BREAK) if cell.reason else ()
        yield (Code(cell.image),), _codes([each.pool for each in group]), (change,), (*why, f"{started}.")


def _fresh(pairs: Sequence[tuple[str, str]]) -> Iterator[str]:
    """`ml runs on a, b`: groups images with the same pools."""
    pools: dict[str, list[str]] = {}
    for image, pool in pairs:
        pools.setdefault(image, []).append(pool)
    images: dict[tuple[str, ...], list[str]] = {}
    for image, found in pools.items():
        images.setdefault(tuple(found), []).append(image)
    for where, names in images.items():
        yield f"{names_of(names)} {'runs' if len(names) == 1 else 'run'} on {names_of(where)}"


def _codes(names: Sequence[str]) -> Inline:
    parts: list[str | Code] = []
    for name in names[:_MOST_NAMES]:
        parts += [", ", Code(name)] if parts else [Code(name)]
    return (*parts, f" and {len(names) - _MOST_NAMES} more") if len(names) > _MOST_NAMES else tuple(parts)
