"""A matrix as Markdown for a pull request or a page: the table, then why some images do not simply run."""

from __future__ import annotations

from collections.abc import Iterator

from cli.markdown_escape import escaped
from cli.matrix.grid import Column, Grid, Reason, Row
from cli.matrix.uses import seats_of, users_of, uses_in_words
from cli.words import source_and_date


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
