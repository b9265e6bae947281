"""`gpu-commons inspect`: what images contain."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from cli.inspect.report import error_data, inspect_data, inspect_text
from cli.terminal import StatusLine, as_json, painter, print_error
from imaging.size.estimate import amount

if TYPE_CHECKING:
    from imaging.inspection.reading import Inspected, Progress

_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True)
class NamedImage:
    """One image as named by the user, and how to read it."""

    name: str
    read: Callable[[], Inspected]


@click.command(
    epilog="Exit codes: 0 fine, 1 something in an image should be changed, 2 usage, or an image that could not be read."
)
@click.argument("references", nargs=-1, metavar="[REF]...")
@click.option("--deep", is_flag=True, help="Stream all layers to find libraries, wheels, device code and waste.")
@click.option("--platform", default="linux/amd64", show_default=True, help="Which image of a multi-platform index.")
@click.option("--oci-layout", "layouts", multiple=True, metavar="DIR[:TAG]", help="A directory in OCI layout.")
@click.option(
    "--docker-archive", "archives", multiple=True, metavar="FILE[:NAME:TAG]", help="An archive written by docker save."
)
@click.option("--sif", "sifs", multiple=True, metavar="FILE", help="An image of Apptainer or Singularity.")
@click.option("--anonymous", is_flag=True, help="Ignore the credentials in Docker's config and its helpers.")
@click.option("--no-cache", is_flag=True, help="Neither read nor write the cache of facts.")
@as_json
@click.pass_context
def inspect(  # noqa: PLR0913, PLR0917 - options
    ctx: click.Context,
    /,
    references: tuple[str, ...],
    layouts: tuple[str, ...],
    archives: tuple[str, ...],
    sifs: tuple[str, ...],
    platform: str,
    *,
    deep: bool,
    anonymous: bool,
    no_cache: bool,
    is_json: bool,
) -> None:
    """What an image contains, according to its manifest and config or, with --deep, its layers.

    Without --deep, reading an image takes at most three requests and one megabyte. Layers are never stored; facts are
    cached by digest in ~/.cache/gpu-commons/images. --json prints one object per line, in the order of the arguments,
    even for a single image.

    \b
    Examples:
      gpu-commons inspect nvidia/cuda:12.4.1-runtime-ubuntu22.04
      gpu-commons inspect --deep registry.example.edu/gpu-commons/cupy-notebook:1.0.0
      gpu-commons inspect --deep --docker-archive image.tar --json
    """
    if not (references or layouts or archives or sifs):
        raise click.UsageError("name an image, or give --oci-layout, --docker-archive or --sif")
    from imaging.inspection.conclusions import judge  # noqa: PLC0415
    from imaging.inspection.faults import InspectError  # noqa: PLC0415 - the list of commands needs no pydantic

    has_failed = has_findings = False
    with ExitStack() as stack:
        status = StatusLine(is_shown=deep and len(references) <= 1)
        stack.callback(status.clear)
        options = ReadOptions(platform, deep, anonymous, no_cache, lambda progress: status.show(_how_far(progress)))
        images = list(wanted_images(stack, options, references, layouts, archives, sifs))
        for number, (name, result) in enumerate(_results(stack, images, deep=deep)):
            try:
                inspected = result()
            except InspectError as error:
                has_failed = True
                status.clear()
                if is_json:
                    click.echo(_one_line(error_data(name, error.problem.reason, error.problem.fix)))
                print_error(error)
                continue
            status.clear()
            judged = judge(inspected.contents)
            has_findings = has_findings or bool(judged.remarks)
            if is_json:
                data = inspect_data(inspected, judged)
                click.echo(_one_line(data))
            else:
                text = inspect_text(inspected, judged, now=datetime.now(UTC), paint=painter())
                click.echo(("\n" if number else "") + text, nl=False)
    ctx.exit(2 if has_failed else 1 if has_findings else 0)


def _results(
    stack: ExitStack, images: Sequence[NamedImage], *, deep: bool
) -> Iterator[tuple[str, Callable[[], Inspected]]]:
    """Names and functions that return facts, in order. Layers are read one image at a time, all else in parallel."""
    if deep or len(images) == 1:
        yield from ((each.name, each.read) for each in images)
        return
    pool = ThreadPoolExecutor(_AT_ONCE)
    # After Ctrl-C, work that has not begun is cancelled; closing the session ends the rest.
    stack.callback(pool.shutdown, wait=False, cancel_futures=True)
    yield from [(each.name, pool.submit(each.read).result) for each in images]


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read images."""

    platform: str = "linux/amd64"
    deep: bool = False
    anonymous: bool = False
    no_cache: bool = False
    tell: Callable[[Progress], None] | None = None


def wanted_images(  # noqa: PLR0913, PLR0917 - the four kinds
    stack: ExitStack,
    options: ReadOptions,
    references: tuple[str, ...],
    layouts: tuple[str, ...] = (),
    archives: tuple[str, ...] = (),
    sifs: tuple[str, ...] = (),
) -> Iterator[NamedImage]:
    """Every named image, not read yet. Raises InspectError for an invalid name."""
    from imaging.inspection.image_locations import open_session, read_platform, registry_image  # noqa: PLC0415
    from imaging.inspection.layouts import DockerArchive, OciLayout  # noqa: PLC0415
    from imaging.inspection.reading import inspect as read_image  # noqa: PLC0415
    from imaging.inspection.sif import inspect_sif  # noqa: PLC0415
    from imaging.inspection.store import Store, store_folder  # noqa: PLC0415

    wanted = read_platform(options.platform)
    store = None if options.no_cache else Store(store_folder(os.environ))

    def reader(source: Any, pinned: str = "") -> Callable[[], Inspected]:
        return lambda: read_image(
            source, wanted=wanted, deep=options.deep, pinned=pinned, store=store, tell=options.tell
        )

    if references:
        session = stack.enter_context(open_session(os.environ, with_login=not options.anonymous, connections=_AT_ONCE))
        for image in [registry_image(session, text) for text in references]:
            yield NamedImage(image.name, reader(image, image.reference.digest or ""))
    for text in layouts:
        yield NamedImage(text, reader(OciLayout.parse(text)))
    for text in archives:
        yield NamedImage(text, reader(DockerArchive.parse(text)))
    for text in sifs:
        yield NamedImage(
            text,
            lambda path=Path(text): inspect_sif(path, wanted=wanted, deep=options.deep, store=store),  # type: ignore[misc]
        )


def _how_far(progress: Progress) -> str:
    done = f"{amount(progress.read_bytes)} of {amount(progress.layer_bytes)}"
    return f"layer {progress.number} of {progress.count}: {done}"


def _one_line(data: dict[str, Any]) -> str:
    return json.dumps(data, ensure_ascii=False)
