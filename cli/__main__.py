"""`python -m cli`, installed as `gpu-commons`: the list of the commands, each with its module."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click

from cli.entry import Lazy, run

COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "check": (
            "cli.check.command",
            "One image or framework build on one GPU and driver, or many cases from a file.",
        ),
        "matrix": (
            "cli.matrix.command",
            "Every image of a stack on every pool: table, Markdown, JSON or one HTML page.",
        ),
        "inspect": ("cli.inspect.command", "What is in an image: registry, OCI layout, docker archive or SIF file."),
        "image": (
            "cli.image.command",
            "What goes into an image, its Dockerfile, its build, mistakes in any Dockerfile, locks.",
        ),
        "init": ("cli.init.command", "A first stack file for your site: asks, or takes flags."),
        "stack": (
            "cli.stack.command",
            "What can be said of a stack file offline: settings, placement, images on pools, promises.",
        ),
        "comment": ("cli.comment", "What a preview changes and for whom: one comment on a pull request."),
        "explain": (
            "cli.explain.command",
            "What an id in an output means: what the rule says, its sources, its examples.",
        ),
        "facts": ("cli.facts", "The tables that answers rest on, with their sources."),
        "schema": ("cli.schema.command", "JSON Schemas: case, answer, matrix, comment, stack, pack."),
    }
)


@click.group(
    cls=Lazy,
    modules=COMMANDS,
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
