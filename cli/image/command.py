"""`gpu-commons image`: the list of its commands, one file each."""

import click

from cli.entry import Lazy


@click.group(
    cls=Lazy,
    modules={
        "new": ("cli.image.new", "Create the folder of a new image, with its lock."),
        "plan": ("cli.image.plan", "Show what goes into an image, where its CUDA runs, and how big it will be."),
        "render": ("cli.image.render", "Print its Dockerfile, with a stage for each target."),
        "build": ("cli.image.build", "Build an image, run its check, and push or write it."),
        "lock": ("cli.image.lock", "Print the commands that resolve its pins again."),
        "sizes": ("cli.image.sizes", "Ask the package index how big its wheels are."),
        "lint": ("cli.image.lint", "Find mistakes in Dockerfiles, definition files and job scripts."),
    },
)
def image() -> None:
    """Create, plan, render, build and lock images of this project; lint any Dockerfile.

    \b
    Examples:
      gpu-commons image new cuda-course --cuda 12.6
      gpu-commons image lint Dockerfile
      gpu-commons image lint --json Dockerfile job.sbatch
      gpu-commons image render scipy-ml-notebook
    """
