"""`gpu-commons image lock`."""

import click

from cli.image.project_images import folder_of
from cli.terminal import as_json, json_text
from imaging.spec.load import read_spec
from imaging.spec.lock import lock_command


@click.command()
@click.argument("name")
@as_json
def lock(name: str, *, is_json: bool) -> None:
    """The commands that resolve the pins of an image of this project again, and of its targets in the same lock.

    \b
    Example:
      gpu-commons image lock scipy-ml-notebook | sh -e
    """
    command = lock_command(read_spec(folder_of(name)))
    click.echo(json_text({"image": name, "command": command}) if is_json else command)
