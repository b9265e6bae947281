"""`gpu-commons image render`."""

import click

from cli.image.project_images import family_of
from cli.terminal import as_json, json_text
from imaging.build.render import render_dockerfile


@click.command()
@click.argument("name")
@as_json
def render(name: str, *, is_json: bool) -> None:
    """The Dockerfile of an image of this project, with a stage for each target: `docker build --target batch`.

    \b
    Example:
      gpu-commons image render scipy-ml-notebook > Dockerfile
    """
    text = render_dockerfile(family_of(name))
    click.echo(json_text({"image": name, "dockerfile": text}) if is_json else text, nl=is_json)
