"""`gpu-commons facts`: the tables that answers rest on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import click

from cli.reports.words import Paint, counted
from cli.terminal import InputError, as_json, json_text, painter
from components.compat.facts import UnknownTable, table_names
from components.compat.facts import facts as look_up

Row = Mapping[str, str]


@click.command(epilog="Exit codes: 0 rows were found, 1 none matches, 2 usage.")
@click.argument("table", required=False)
@click.argument("text", required=False)
@click.option(
    "--where",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="Rows with this value, or with a list that has it. Repeatable.",
)
@as_json
@click.pass_context
def facts(ctx: click.Context, table: str | None, text: str | None, where: tuple[str, ...], *, is_json: bool) -> None:
    """Rows of a TABLE with their sources; those that hold TEXT somewhere. Without TABLE, the list of tables.

    \b
    Examples:
      gpu-commons facts gpu_model "1080 Ti"
      gpu-commons facts framework --where framework=pytorch --where variant=cu118 --json
    """  # noqa: D301 - \b is click's: it keeps the lines
    if table is None:
        sizes = {name: len(look_up(name)) for name in table_names()}
        listed = [{"table": name, "rows": size} for name, size in sizes.items()]
        click.echo(
            json_text(listed) if is_json else "\n".join(f"{name:<20}{size:>6} rows" for name, size in sizes.items())
        )
        return
    try:
        rows = [row for row in look_up(table, **_conditions(where)) if _holds(row, text)]
    except UnknownTable as error:
        raise InputError(str(error)) from None
    if is_json:
        click.echo(json_text([dict(row) for row in rows]))
    else:
        click.echo("\n\n".join("\n".join(_lines(row, painter())) for row in rows), nl=bool(rows))
        click.echo(f"{counted(len(rows), 'row')} of {table}", err=True)
    ctx.exit(0 if rows else 1)


def _conditions(where: Iterable[str]) -> dict[str, str]:
    found = {}
    for condition in where:
        column, equals, value = condition.partition("=")
        if not equals or not column.strip():
            raise click.UsageError(f'--where: "{condition}" is not COLUMN=VALUE such as architecture=Turing')
        found[column.strip()] = value
    return found


def _holds(row: Row, text: str | None) -> bool:
    return text is None or any(text.lower() in cell.lower() for cell in row.values())


def _lines(row: Row, paint: Paint) -> Iterator[str]:
    """One row as a block: its key, then what is known; what is not is left out."""
    unverified = {name for name in row["unverified_cells"].split(";") if name}
    told = {
        name: cell for name, cell in row.items() if cell and name not in {"source", "collected", "unverified_cells"}
    }
    first, *others = told
    yield paint(told[first], "strong") + ("  (not verified)" if first in unverified else "")
    longest = max(map(len, [*others, "source"]))
    for name in others:
        doubt = "  (not verified)" if name in unverified else ""
        yield f"  {name:<{longest}}  {told[name]}{doubt}"
    yield paint(f"  {'source':<{longest}}  {row['source']}, read {row['collected']}", "quiet")
