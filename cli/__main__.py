"""`python -m cli`, installed as `gpu-commons`: the commands and their modules."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import click

from cli.entry import Lazy, run

COMMANDS: Final[Mapping[str, tuple[str, str]]] = MappingProxyType(
    {
        "check": (
            "cli.check.command",
            "Will an image or framework build run on this GPU and driver? One case, or many from a file.",
        ),
        "matrix": (
            "cli.matrix.command",
            "Which images of a stack run on which pools: as a table, Markdown, JSON or one HTML page.",
        ),
        "inspect": (
            "cli.inspect.command",
            "What an image contains: from a registry, an OCI layout, a Docker archive or a SIF file.",
        ),
        "image": (
            "cli.image.command",
            "Create, plan, render, build and lock images; lint any Dockerfile.",
        ),
        "init": ("cli.init.command", "Write the first stack file of a site, from questions or from flags."),
        "stack": (
            "cli.stack.command",
            "Check a stack file offline: settings, placement, images on pools, promises.",
        ),
        "top": ("cli.top.command", "Who has which GPUs of a stack's hosts or cluster now, and since when."),
        "probe": (
            "cli.probe.command",
            "What a GPU host is, as a pool of a stack file; here, by ssh or as a job of Slurm.",
        ),
        "comment": (
            "cli.comment",
            "Summarise what a preview changes, and for whom, in one comment for a pull request.",
        ),
        "explain": (
            "cli.explain.command",
            "Explain an id from any output: what the rule says, its sources, examples.",
        ),
        "facts": ("cli.facts", "Look up the tables behind the answers, with their sources."),
        "schema": ("cli.schema.command", "Print a JSON Schema: case, answer, matrix, comment, stack or pack."),
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
    """Will this image run on those GPUs, and if not, what has to change?

    \b
    Example:
      gpu-commons check --gpu "GTX 1080 Ti" --driver 418.88 --image nvidia/cuda:10.2-runtime-ubuntu18.04
    """


def main() -> None:
    """Run, and exit without a traceback."""
    run(commands, "gpu-commons")


if __name__ == "__main__":
    main()
