"""A matrix as one self-contained HTML page: no script, font, picture or network.

Each cell links to its reason. Signs and words repeat what colours say, for print and screen readers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import Final

from cli.matrix.grid import Column, Grid, Reason, Row
from cli.matrix.style import STYLE
from cli.matrix.uses import seats_of, users_of, uses_in_words
from cli.words import ALL_SIGNS, NO_GPU, Sign, counted, is_fine
from compat import Change, Finding, Remedy, Severity
from compat.values.fact import Fact
from fleet.courses import Usage

_MANY: Final = 8  # with this many pools, column heads are vertical and cells show only the sign
_BACK: Final = '<p class="back"><a href="#matrix">Back to the table</a></p>\n</article>\n'
_LABELS: Final = {
    "compute_capability": "compute capability",
    "gpu_class": "class",
    "container_toolkit": "container toolkit",
    "instance_type": "instance type",
    "ami_release": "AMI release",
    "kernel_module": "kernel module",
    "cpu_arch": "CPU",
    "host_glibc": "glibc",
    "os": "system",
}


def matrix_html(grid: Grid, *, made: str = "") -> str:
    """The page. `made` is its last line, such as its author and date."""
    return "".join(_page(grid, made))


def _page(grid: Grid, made: str) -> Iterator[str]:
    title = escape(grid.title)
    yield (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta name="color-scheme" content="light dark">\n<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n'
        f"<body>\n<header>\n<h1>{title}</h1>\n<p>{escape(grid.summary)}</p>\n"
    )
    yield from _legend(grid)
    yield "</header>\n<main>\n"
    if grid.rows and grid.columns:
        yield from _table(grid)
        yield '<h2 id="why">Why</h2>\n'
        for number, row in enumerate(grid.rows, 1):
            if row.uses:
                yield from _row_reasons(grid, row, number)
        yield from _without_gpu(grid)
        yield from _pools(grid.columns)
    yield "</main>\n"
    yield f"<footer><p>{escape(made)}</p></footer>\n" if made else ""
    yield "</body>\n</html>\n"


def _legend(grid: Grid) -> Iterator[str]:
    counts = dict(grid.counts)
    yield '<dl class="legend">\n'
    for sign in ALL_SIGNS:
        if sign not in counts:
            continue
        number = f'<span class="count">{counts[sign]:,}</span>'
        yield f"<div><dt>{_mark(sign)} {number}</dt><dd>{escape(sign.meaning)}</dd></div>\n"
    yield "</dl>\n"


def _mark(sign: Sign) -> str:
    return (
        f'<span class="mark {sign.tone}"><span aria-hidden="true">{sign.symbol}</span> <span>{sign.word}</span></span>'
    )


# --- the table


def _table(grid: Grid) -> Iterator[str]:
    dense = len(grid.columns) > _MANY
    yield (
        '<div class="scroll" role="region" aria-labelledby="matrix" tabindex="0">\n'
        f'<table class="matrix{" dense" if dense else ""}">\n'
        '<caption id="matrix">Images on pools; each cell leads to its reason</caption>\n'
        '<thead>\n<tr><th scope="col">Image</th>'
    )
    for index, column in enumerate(grid.columns, 1):
        yield f'<th scope="col"><a href="#pool-{index}">{_head(column)}</a></th>'
    yield "</tr>\n</thead>\n<tbody>\n"
    for number, row in enumerate(grid.rows, 1):
        by_pool = grid.reasons(row, number).by_pool
        yield f'<tr><th scope="row"><a href="#image-{number}">{escape(row.name)}</a></th>'
        for column in grid.columns:
            reason = by_pool[column.name]
            target = f"why-{reason.place}" if row.uses else f"image-{number}"
            users = _users(grid.used_by(row, column.name), shows_unused=bool(grid.uses and row.uses))
            yield f'<td class="{reason.sign.tone}"><a href="#{target}">{_cell(reason.sign)}{users}</a></td>'
        yield "</tr>\n"
    yield "</tbody>\n</table>\n</div>\n"


def _head(column: Column) -> str:
    driver = f"driver {column.driver}" if column.driver else "driver unknown"
    return f"<b>{escape(column.name)}</b> <span>{escape(column.gpu)}</span> <span>{escape(driver)}</span>"


def _cell(sign: Sign) -> str:
    return f'<span class="symbol" aria-hidden="true">{sign.symbol}</span> <span class="word">{sign.word}</span>'


def _users(uses: Sequence[Usage], *, shows_unused: bool) -> str:
    """Who uses this cell, in a line or two; `not used` if a GPU would be wasted."""
    if not uses:
        return ' <span class="users">not used</span>' if shows_unused else ""
    lines = filter(None, (users_of(uses), seats_of(uses)))
    return "".join(f' <span class="users">{escape(line)}</span>' for line in lines)


# --- reasons


def _row_reasons(grid: Grid, row: Row, number: int) -> Iterator[str]:
    yield (
        f'<section aria-labelledby="image-{number}">\n<h3 id="image-{number}">{escape(row.name)}</h3>\n'
        f'<p class="quiet">Uses a GPU: {"; ".join(map(escape, row.uses))}.</p>\n<div class="cards">\n'
    )
    reasons = grid.reasons(row, number).reasons
    for reason in reasons:
        if not is_fine(reason.answer):
            yield from _reason(reason, grid, row)
    if running := [reason for reason in reasons if is_fine(reason.answer)]:
        yield from _running(running, grid, row)
    yield "</div>\n</section>\n"


def _running(reasons: Sequence[Reason], grid: Grid, row: Row) -> Iterator[str]:
    """Everything that simply runs, in one card: the facts appear once, collapsed."""
    pools = tuple(pool for reason in reasons for pool in reason.pools)
    yield from _head_of(reasons[0], pools, len(grid.columns))
    yield from _used_by(grid, row, pools)
    facts: dict[tuple[str, Fact], dict[str, None]] = {}
    for finding in (finding for reason in reasons for finding in reason.answer.findings):
        facts.setdefault((finding.rule, finding.fact), {})[finding.message] = None
    if facts:
        yield f"<details>\n<summary>Why: {counted(len(facts), 'fact')}</summary>\n<ul>\n"
        for (rule, fact), messages in facts.items():
            yield (f"<li><p><code>{escape(rule)}</code> {escape('; '.join(messages))}</p>{_fact(fact)}</li>\n")
        yield "</ul>\n</details>\n"
    yield _BACK


def _without_gpu(grid: Grid) -> Iterator[str]:
    names = [(number, row.name) for number, row in enumerate(grid.rows, 1) if not row.uses]
    if names:
        yield (
            f'<section aria-labelledby="no-gpu">\n<h3 id="no-gpu">Images that use no GPU</h3>\n'
            f'<p>{_mark(NO_GPU)} {escape(NO_GPU.meaning)}</p>\n<ul class="names">\n'
        )
        for number, name in names:
            row = grid.rows[number - 1]
            uses = grid.used_by(row, *(column.name for column in grid.columns))
            used = f' <span class="quiet">{escape("; ".join(uses_in_words(uses)))}</span>' if uses else ""
            yield f'<li id="image-{number}">{escape(name)}{used}</li>\n'
        yield "</ul>\n</section>\n"


def _reason(reason: Reason, grid: Grid, row: Row) -> Iterator[str]:
    yield from _head_of(reason, reason.pools, len(grid.columns))
    yield from _used_by(grid, row, reason.pools)
    if reason.answer.remedy:
        yield from _remedy(reason.answer.remedy)
    shown = [each for each in reason.answer.findings if each.severity is not Severity.NOTE]
    notes = [each for each in reason.answer.findings if each.severity is Severity.NOTE]
    if shown:
        yield f"<ul>\n{''.join(map(_finding, shown))}</ul>\n"
    if notes:
        yield f"<details>\n<summary>What holds: {counted(len(notes), 'fact')}</summary>\n"
        yield f"<ul>\n{''.join(map(_finding, notes))}</ul>\n</details>\n"
    yield _BACK


def _head_of(reason: Reason, pools: Sequence[str], all_: int) -> Iterator[str]:
    named = ", ".join(f'<span class="whole">{escape(pool)}</span>' for pool in pools)
    where = "every pool" if len(pools) == all_ > 1 else named
    yield (
        f'<article class="why {reason.sign.tone}" id="why-{reason.place}" tabindex="-1">\n'
        f"<h4>{_mark(reason.sign)} <span>on {where}</span></h4>\n"
    )


def _used_by(grid: Grid, row: Row, pools: Sequence[str]) -> Iterator[str]:
    """Who uses an image on these pools, one per line, with the pools if there are several."""
    used = grid.used_by(row, *pools)
    if not used:
        return
    yield '<p class="used">Used by</p>\n<ul class="used">\n'
    for use in used:
        on = [pool for pool in pools if use in grid.used_by(row, pool)] if len(pools) > 1 else []
        where = f' <span class="quiet">on {escape(", ".join(on))}</span>' if on else ""
        (shown,) = uses_in_words([use])
        yield f"<li>{escape(shown)}{where}</li>\n"
    yield "</ul>\n"


def _finding(finding: Finding) -> str:
    places = f'<p class="quiet">At {escape(", ".join(finding.places))}.</p>' if finding.places else ""
    return (
        f'<li><p><code>{escape(finding.rule)}</code> <span class="severity">{finding.severity.value}</span> '
        f"{escape(finding.message)}</p>{_fact(finding.fact)}{places}</li>\n"
    )


def _fact(fact: Fact) -> str:
    read = f', <span class="nowrap">read {escape(fact.date)}</span>' if fact.date else ""
    shown = ". ".join(
        filter(None, (escape(fact.text), f"Source: {_sources(fact.source)}{read}" if fact.source else ""))
    )
    return f'<p class="quiet">{shown}</p>' if shown else ""


def _sources(source: str) -> str:
    """Addresses and GitHub repositories as links, everything else as it is."""
    parts = (part.strip() for part in source.split(" ; "))
    return "; ".join(_source(part) for part in dict.fromkeys(parts))


def _source(part: str) -> str:
    address, _, rest = part.partition(" ")
    shown = escape(address.partition("://")[2].removesuffix("/"))
    if re.fullmatch(r"github:[\w.-]+/[\w.-]+", address):
        shown, address = escape(address), f"https://github.com/{address.removeprefix('github:')}"
    if not re.match(r"https?://[\w.-]+(/|$)", address):
        return escape(part)
    return f'<a href="{escape(address)}" rel="noreferrer">{shown}</a>' + (f" {escape(rest)}" if rest else "")


def _remedy(remedy: Remedy) -> Iterator[str]:
    yield f'<p class="remedy"><b>What to change.</b> {escape(remedy.text)}'
    if remedy.changes:
        yield f' <span class="quiet">({"; ".join(map(_change, remedy.changes))})</span>'
    yield "</p>\n"


def _change(change: Change) -> str:
    was = f"<s>{escape(change.from_)}</s> → " if change.from_ else ""
    return f"{escape(change.field)}: {was}<b>{escape(change.to)}</b>"


# --- pools


def _pools(columns: Iterable[Column]) -> Iterator[str]:
    listed = tuple(columns)
    names = list(dict.fromkeys(name for column in listed for name, _ in column.more))
    yield (
        '<h2>Pools</h2>\n<div class="scroll" role="region" aria-labelledby="pools" tabindex="0">\n'
        '<table class="pools">\n'
        f'<caption id="pools">{counted(len(listed), "pool")}, as given</caption>\n<thead>\n<tr>'
    )
    yield from (f'<th scope="col">{escape(_LABELS.get(name, name))}</th>' for name in ("pool", "GPU", "driver", *names))
    yield "</tr>\n</thead>\n<tbody>\n"
    for number, column in enumerate(listed, 1):
        more = dict(column.more)
        cells = (column.gpu, column.driver, *(more.get(name, "") for name in names))
        shown = "".join(f"<td>{escape(cell) or 'not stated'}</td>" for cell in cells)
        yield f'<tr id="pool-{number}"><th scope="row">{escape(column.name)}</th>{shown}</tr>\n'
    yield "</tbody>\n</table>\n</div>\n"
