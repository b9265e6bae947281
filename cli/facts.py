"""`gpu-commons facts`: the tables behind the answers."""

import textwrap
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import click

from cli.terminal import InputError, as_json, json_text, painter, width
from cli.words import Paint, counted
from compat.facts import csv_files
from compat.facts.lookup import UnknownTable, table_names
from compat.facts.lookup import facts as look_up

Row = Mapping[str, str]
TABLES: Final = {row["table"]: row["has"] for row in csv_files.rows("facts", Path(__file__).parent)}


@click.command(epilog="Exit codes: 0 rows were found, 1 no row matches, 2 usage.")
@click.argument("table", required=False)
@click.argument("text", required=False)
@click.option(
    "--where",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Only rows with this value, or with a list that contains it. Repeatable.",
)
@click.option("--unverified", is_flag=True, help="Only rows with an unverified cell; without TABLE, count them.")
@as_json
@click.pass_context
def facts(  # noqa: PLR0913 - click hands over every option
    ctx: click.Context,
    table: str | None,
    text: str | None,
    where: tuple[str, ...],
    *,
    unverified: bool,
    is_json: bool,
) -> None:
    """Show the rows of a TABLE that contain TEXT, with their sources. Without TABLE, list the tables.

    A cell that is not verified can lead to a warning, but never to a refusal.

    \b
    Examples:
      gpu-commons facts gpu_model "1080 Ti"
      gpu-commons facts framework --where framework=pytorch --where variant=cu118 --json
    """
    if table is None:
        if where:
            raise click.UsageError("--where selects rows of a table: name the TABLE before it")
        doubts = unverified_counts()
        if is_json:
            click.echo(json_text([{"table": name, **asdict(each)} for name, each in doubts.items()]))
        else:
            click.echo("\n".join(_doubts(doubts) if unverified else _listed(doubts)))
        return
    try:
        rows = [
            row
            for row in look_up(table, **_conditions(where))
            if _holds(row, text) and (_unverified(row) or not unverified)
        ]
    except UnknownTable as error:
        raise InputError(str(error)) from None
    if is_json:
        click.echo(json_text([dict(row) for row in rows]))
    else:
        click.echo("\n\n".join("\n".join(_lines(row, painter())) for row in rows), nl=bool(rows))
        click.echo(f"{counted(len(rows), 'row')} of {table}", err=True)
    ctx.exit(0 if rows else 1)


@dataclass(frozen=True, slots=True)
class UnverifiedCounts:
    """How much of a table has not been verified at its source."""

    rows: int
    unsure_rows: int
    cells: int  # unverified cells


def unverified_counts() -> dict[str, UnverifiedCounts]:
    """Every table with its size and its unverified cells."""
    return {name: _counts_of(look_up(name)) for name in table_names()}


def _counts_of(rows: Iterable[Row]) -> UnverifiedCounts:
    unsure = [_unverified(row) for row in rows]
    return UnverifiedCounts(len(unsure), sum(map(bool, unsure)), sum(map(len, unsure)))


def _unverified(row: Row) -> set[str]:
    """Columns of the row with an unverified value."""
    return {name for name in row["unverified_cells"].split(";") if name and row[name]}


def _listed(doubts: Mapping[str, UnverifiedCounts]) -> Iterator[str]:
    for name, each in doubts.items():
        start = f"{name:<20}{each.rows:>5} rows  "
        shown = TABLES.get(name, "")
        yield from textwrap.wrap(
            shown, width() or len(start + shown) + 1, initial_indent=start, subsequent_indent=" " * len(start)
        ) or [start.rstrip()]


def _doubts(doubts: Mapping[str, UnverifiedCounts]) -> Iterator[str]:
    for name, each in doubts.items():
        yield f"{name:<20}{each.rows:>5} rows, {each.unsure_rows:>4} with {each.cells:>4} unverified cells"
    yield f"{counted(sum(each.cells for each in doubts.values()), 'cell')}: they may cause warnings, but no refusal."


def _conditions(where: Iterable[str]) -> dict[str, str]:
    conditions = {}
    for condition in where:
        column, equals, value = condition.partition("=")
        if not equals or not column.strip():
            raise click.UsageError(f'--where: "{condition}" is not COLUMN=VALUE such as architecture=Turing')
        conditions[column.strip()] = value
    return conditions


def _holds(row: Row, text: str | None) -> bool:
    return text is None or any(text.lower() in cell.lower() for cell in row.values())


def _lines(row: Row, paint: Paint) -> Iterator[str]:
    """One row as a block: its key, then its known cells."""
    unverified = _unverified(row)
    shown = {
        name: cell for name, cell in row.items() if cell and name not in {"source", "collected", "unverified_cells"}
    }
    first, *others = shown
    yield paint(shown[first], "strong") + ("  (not verified)" if first in unverified else "")
    longest = max(map(len, [*others, "source"]))
    for name in others:
        doubt = "  (not verified)" if name in unverified else ""
        yield f"  {name:<{longest}}  {shown[name]}{doubt}"
    yield paint(f"  {'source':<{longest}}  {row['source']}, read {row['collected']}", "quiet")
