"""A matrix for a terminal: a table if it fits, else a list; then the reasons."""

import io
import textwrap
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cli.answers import reasons_text
from cli.markdown_escape import escaped
from cli.matrix.grid import Column, Grid, Reason, Row
from cli.matrix.uses import seats_of, users_of, uses_in_words
from cli.words import ALL_SIGNS, Sign, folded, source_and_date
from compat import Answer, Severity

_STYLES: Final = {"good": "green", "warn": "yellow", "open": "cyan", "bad": "bold red", "none": "dim"}
_GAP: Final = 3  # between two columns
_LONGEST_NAME: Final = 32  # the widest name of an image before it is folded
_QUIET: Final = 4  # the most pools to name one by one in a list


def matrix_text(grid: Grid, *, width: int, has_colours: bool = False) -> str:
    """The report, in lines of at most `width` columns where words allow."""
    out = io.StringIO()
    console = Console(
        file=out, width=width, force_terminal=has_colours, color_system="standard" if has_colours else None,
        no_color=not has_colours, highlight=False, emoji=False, markup=False, legacy_windows=False, _environ={},
    )  # fmt: skip
    console.print(Text(grid.title, style="bold"))
    console.print(grid.summary)
    if grid.rows and grid.columns:
        console.print()
        if _needed(grid) <= width:
            console.print(_table(grid))
        else:
            for line in _list(grid, width):
                console.print(line)
    for line in (*_reasons(grid, width), *_uses(grid, width)):
        console.print(line, soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _needed(grid: Grid) -> int:
    first = min(max(cell_len(row.name) for row in grid.rows), _LONGEST_NAME)
    return first + sum(_GAP + max(map(cell_len, _cells(grid, column))) for column in grid.columns)


def _cells(grid: Grid, column: Column) -> list[str]:
    return [column.name, column.gpu, column.driver, *(str(grid.sign(row, column)) for row in grid.rows)]


def _table(grid: Grid) -> Table:
    table = Table(box=None, padding=(0, _GAP, 0, 0), pad_edge=False, header_style="")
    table.add_column("", max_width=_LONGEST_NAME, overflow="fold")
    for column in grid.columns:
        head = Text(column.name, style="bold")
        head.append(f"\n{column.gpu}\n{column.driver or 'driver unknown'}", style="not bold dim")
        table.add_column(head, no_wrap=True)
    for row in grid.rows:
        signs = [grid.sign(row, column) for column in grid.columns]
        table.add_row(Text(row.name, style="bold"), *(Text(str(sign), style=_STYLES[sign.tone]) for sign in signs))
    return table


def _list(grid: Grid, width: int) -> Iterator[Text]:
    for row in grid.rows:
        yield Text(row.name, style="bold")
        pools: dict[Sign, list[str]] = {}
        for column in grid.columns:
            pools.setdefault(grid.sign(row, column), []).append(column.name)
        for sign in (sign for sign in ALL_SIGNS if sign in pools):
            text = _pools(tuple(pools[sign]), len(grid.columns))
            first, *more = textwrap.wrap(text, max(width - 4, 20), initial_indent=" " * (len(str(sign)) + 2)) or [""]
            line = Text(f"  {sign}: ", style=_STYLES[sign.tone])
            line.append(first.strip(), style="not bold default")
            yield line
            yield from (Text(f"    {part}") for part in more)


def _reasons(grid: Grid, width: int) -> Iterator[Text]:
    for row in grid.rows:
        for reason in grid.reasons(row):
            if row.uses and not reason.is_fine:
                yield Text()
                sign = str(reason.sign)
                text = f"{sign}: {row.name} on {_pools(reason.pools, len(grid.columns))}"
                first, *more = textwrap.wrap(text, width, subsequent_indent="  ", break_long_words=False)
                head = Text(first)
                head.stylize(_STYLES[reason.sign.tone], 0, len(sign))
                yield head
                yield from map(Text, more)
                if reason.uses:
                    yield from _folded(f"used by {'; '.join(uses_in_words(reason.uses))}", width)
                for line in reasons_text(_without_notes(reason.answer), width=width):
                    yield Text(line)


def _uses(grid: Grid, width: int) -> Iterator[Text]:
    """Who uses what runs, unless a reason has shown it; unknown for two lists."""
    if not grid.uses:
        return
    yield Text()
    yield Text("Used by", style="bold")
    for row in grid.rows:
        if row.uses and not grid.used_by(row, *(column.name for column in grid.columns)):
            yield from _folded(f"{row.name}: not used by this stack", width)
        fine = {pool for reason in grid.reasons(row) if reason.is_fine for pool in reason.pools}
        for uses, pools in grid.pools_by_use(row):
            if uses and (where := tuple(pool for pool in pools if pool in fine)):
                on = _pools(where, len(grid.columns))
                yield from _folded(f"{row.name} on {on}: {'; '.join(uses_in_words(uses))}", width)


def _folded(text: str, width: int) -> Iterator[Text]:
    yield from map(Text, folded(text, "  ", "    ", width))


def _without_notes(answer: Answer) -> Answer:
    """Drops notes, which the page and the JSON have."""
    return replace(answer, findings=tuple(each for each in answer.findings if each.severity is not Severity.NOTE))


def _pools(pools: tuple[str, ...], all_: int) -> str:
    return f"every pool ({all_})" if len(pools) == all_ > _QUIET else ", ".join(pools)


def matrix_markdown(grid: Grid) -> str:
    """The whole page, ending in a line feed."""
    return "\n".join(_lines(grid)) + "\n"


def _lines(grid: Grid) -> Iterator[str]:
    yield f"# {escaped(grid.title)}\n\n{grid.summary}"
    if not (grid.rows and grid.columns):
        return
    heads = [f"{escaped(each.name)}<br>{escaped(each.gpu)}<br>{escaped(each.driver or '?')}" for each in grid.columns]
    yield "\n| image | " + " | ".join(heads) + " |\n|---|" + "---|" * len(heads)
    for row in grid.rows:
        yield f"| {escaped(row.name)} | " + " | ".join(_cell(grid, row, column) for column in grid.columns) + " |"
    for row in grid.rows:
        for reason in grid.reasons(row):
            if row.uses and not reason.is_fine:
                yield from _reason(row.name, reason)


def _cell(grid: Grid, row: Row, column: Column) -> str:
    """The sign, the users, and how many seats that is."""
    uses = grid.used_by(row, column.name)
    return "<br>".join(filter(None, (str(grid.sign(row, column)), escaped(users_of(uses)), seats_of(uses))))


def _reason(image: str, reason: Reason) -> Iterator[str]:
    yield f"\n## {reason.sign}: {escaped(image)} on {escaped(', '.join(reason.pools))}\n"
    if reason.uses:
        yield f"Used by {escaped('; '.join(uses_in_words(reason.uses)))}.\n"
    for finding in reason.answer.findings:
        yield f"- **{finding.rule}** ({finding.severity.value}): {escaped(finding.message)}"
        fact = " · ".join(filter(None, (finding.fact.text, source_and_date(finding.fact.source, finding.fact.date))))
        if fact:
            yield f"  <br>{escaped(fact)}"
        if finding.places:
            yield f"  <br>At {escaped(', '.join(finding.places))}."
    if reason.answer.remedy:
        yield f"\n**What to change:** {escaped(reason.answer.remedy.text)}"
