"""`gpu-commons image`: the list of its commands, each in a file of this folder."""

from __future__ import annotations

import click

from cli.entry import Lazy


@click.group(
    cls=Lazy,
    modules={
        "new": ("cli.image.new", "A folder for a new image, with its lock."),
        "plan": ("cli.image.plan", "What goes in, whether its CUDA runs on each pool, how big it will be."),
        "render": ("cli.image.render", "Its Dockerfile, with a stage for each target."),
        "build": ("cli.image.build", "Build it, run its check, push or write it, and say what it turned out to be."),
        "lock": ("cli.image.lock", "The commands that resolve its pins anew."),
        "sizes": ("cli.image.sizes", "Ask the package index how big its wheels are."),
        "lint": ("cli.image.lint", "Mistakes in Dockerfiles, definition files and job scripts."),
    },
)
def image() -> None:
    """Images: what goes into one, its Dockerfile, its build, the mistakes of any Dockerfile, its locks.

    \b
    Examples:
      gpu-commons image new cuda-course --cuda 12.6
      gpu-commons image lint Dockerfile
      gpu-commons image lint --json Dockerfile job.sbatch
      gpu-commons image render scipy-ml-notebook
    """  # noqa: D301 - \b is click's: it keeps the lines
