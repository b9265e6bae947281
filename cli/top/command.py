"""`gpu-commons top`: who has which GPUs now, and since when."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import click

from cli.entry import USAGE
from cli.stacks import read_stack, site_option, site_overlay, stack_name
from cli.terminal import as_json, json_text, painter, print_error
from cli.top.report import top_data, top_text


@click.command(epilog="Exit codes: 0 fine, 2 usage, or a host or cluster that did not answer.")
@click.option(
    "--stack", required=True, metavar="NAME|PATH",
    help="Stack file, or its name: perceptron is stacks/Pulumi.perceptron.yaml.",
)  # fmt: skip
@site_option()
@as_json
@click.pass_context
def top(ctx: click.Context, /, stack: str, site: Path | None, *, is_json: bool) -> None:
    """Who has which GPUs of a stack's fleet now, and since when; nothing is changed.

    On Docker hosts, the engine reports which container holds which GPU; containers that were started without the
    networks of the GPUs are not counted. On clusters, kubectl reports how many GPUs each pod holds on a node, and which
    pods wait for some. Users and hubs are shown for servers and kernels of a hub.

    \b
    Examples:
      gpu-commons top --stack perceptron
      gpu-commons top --stack dsmlp-fall --json
      watch -n 10 gpu-commons top --stack perceptron
    """
    from cli.top.collect import find_holdings  # noqa: PLC0415 - the list of commands needs no pydantic

    settings = read_stack(stack, site=site or site_overlay())
    name = stack_name(stack)
    found = find_holdings(name, settings)
    now = datetime.now(UTC)
    if is_json:
        click.echo(json_text(top_data(name, found.holdings, found.problems, now)))
    elif found.holdings or not found.problems:
        click.echo(top_text(name, found.holdings, now=now, paint=painter()), nl=False)
    for problem in found.problems:
        print_error(problem)
    ctx.exit(USAGE if found.problems else 0)
