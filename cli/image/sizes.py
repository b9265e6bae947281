"""`gpu-commons image sizes`."""

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import click

from cli.image.project_images import folder_of
from cli.terminal import InputError, as_json, json_text
from cli.words import counted
from imaging.inspection.image_locations import open_session
from imaging.inspection.index import Index, index_url
from imaging.size.estimate import amount
from imaging.spec.load import load_spec
from imaging.spec.wheels import SIZES_FILE, WantedWheel, WheelSize, sizes_text, wanted_wheels

_AT_ONCE: Final = 8  # parallel requests to the index


@click.command(
    epilog="Exit codes: 0 written, 2 usage, or a locked file that the index does not have.",
)
@click.argument("name")
@as_json
def sizes(name: str, *, is_json: bool) -> None:
    """Ask the package index how big the wheels of an image are, and write that beside its lock for `image plan`.

    The index is the one configured for uv or pip (UV_DEFAULT_INDEX, PIP_INDEX_URL, pip.conf), or else PyPI. Only pages
    of the index are read, and the length of a file if its page does not state it; nothing is downloaded.

    \b
    Example:
      gpu-commons image sizes scipy-ml-notebook
    """
    folder = folder_of(name)
    spec = load_spec(folder)
    wanted = wanted_wheels(spec, (folder / spec.python.lock).read_text() if spec.python else "")
    if not wanted:
        raise InputError(f"{spec.name} has no wheels, so there is nothing to look up")
    measured = _sizes(wanted)
    path, total = folder / SIZES_FILE, sum(size.bytes for size in measured)
    path.write_text(sizes_text(measured))
    if is_json:
        click.echo(json_text({"image": spec.name, "file": str(path), "wheels": len(measured), "bytes": total}))
    else:
        click.echo(f"wrote {path}: {counted(len(measured), 'wheel')}, {amount(total)}")


def _sizes(wanted: Sequence[WantedWheel]) -> list[WheelSize]:
    with open_session(os.environ, with_login=False) as session, ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(Index(session, index_url(os.environ)).size, wanted))
