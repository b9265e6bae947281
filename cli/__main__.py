"""`python -m cli`, installed as `gpu-commons`. A command's module is imported when the command is named."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click

from cli.entry import Guarded, run

COMMANDS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "check": "One image or framework build on one GPU and driver, or many cases from a file.",
        "matrix": "Every image of a stack on every pool: table, Markdown, JSON or one HTML page.",
        "inspect": "What is in an image: registry, OCI layout, docker archive or SIF file.",
        "image": "What goes into an image, its Dockerfile, its build, mistakes in any Dockerfile, locks.",
        "init": "A first stack file for your site: asks, or takes flags.",
        "stack": "What can be said of a stack file offline: settings, placement, images on pools, promises.",
        "comment": "What a preview changes and for whom: one comment on a pull request.",
        "explain": "What an id in an output means: what the rule says, its sources, its examples.",
        "facts": "The tables that answers rest on, with their sources.",
        "schema": "JSON Schemas: case, answer, matrix, comment, stack, pack.",
    }
)


class Commands(Guarded):
    """The commands of this folder, each imported when it is needed; the list of all needs none of them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the list, not of the alphabet."""
        return [*COMMANDS, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, from the module of that name."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        command = getattr(importlib.import_module(f"cli.{cmd_name}"), cmd_name)
        assert isinstance(command, click.Command)  # noqa: S101 - a test names each
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that is meant; a name that is none gets the nearest."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches  # noqa: PLC0415 - for a mistake alone

            if not (close := get_close_matches(args[0], COMMANDS, n=1)):
                raise
            raise click.UsageError(f"{error.message} Did you mean '{close[0]}'?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list, without importing what it lists."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name]) for name in self.list_commands(ctx)])


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"]},
    epilog="Exit codes: 0 fine, 1 findings, 2 usage.",
)
@click.version_option(package_name="gpu-commons", prog_name="gpu-commons")
def commands() -> None:
    """Will this image run on those GPUs, and if not, what to change?

    \b
    Example:
      gpu-commons check --gpu "GTX 1080 Ti" --driver 418.88 --image nvidia/cuda:10.2-runtime-ubuntu18.04
    """  # noqa: D301 - \b is click's: it keeps the lines


def main() -> None:
    """Run, and leave without a traceback whatever ends the command."""
    run(commands, "gpu-commons")


if __name__ == "__main__":
    main()
