"""`gpu-commons image`: what goes into an image, its Dockerfile, its build, mistakes of any Dockerfile, its locks."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from cli.terminal import InputError, as_json, json_text, painter, width

if TYPE_CHECKING:  # pydantic and tree-sitter cost more than most commands take: each command imports its own
    from images.spec.model import ImageSpec
    from images.spec.wheels import Wanted, WheelSize

Read = TypeVar("Read")
FINDINGS: Final = 1
USAGE: Final = 2
_AT_ONCE: Final = 8  # questions to the index


_NEW: Final = "new"


class _Subcommands(click.Group):
    """Those of this file, and `new` of its own file, which is imported when it is named."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The new image comes first."""
        return [_NEW, *super().list_commands(ctx)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """By its name."""
        if cmd_name != _NEW:
            return super().get_command(ctx, cmd_name)
        from cli.image_new import new  # noqa: PLC0415 - its models cost more than most commands take

        return new


@click.group(cls=_Subcommands)
def image() -> None:
    """Images: what goes into one, its Dockerfile, its build, the mistakes of any Dockerfile, its locks.

    \b
    Examples:
      gpu-commons image new cuda-course --cuda 12.6
      gpu-commons image lint Dockerfile
      gpu-commons image lint --json Dockerfile job.sbatch
      gpu-commons image render scipy-ml-notebook
    """  # noqa: D301 - \b is click's: it keeps the lines


@image.command(
    short_help="Mistakes in Dockerfiles, definition files and job scripts.",
    epilog="Exit codes: 0 nothing found, 1 findings, 2 a file, an option or a waiver cannot be read.",
)
@click.argument("files", nargs=-1, required=True, metavar="FILE…")
@click.option(
    "--role",
    type=click.Choice(["application", "batch", "driver"]),
    default="application",
    show_default=True,
    help="What the image is for: one for batch needs a command, a driver image may hold a driver.",
)
@click.option(
    "--kind",
    type=click.Choice(["dockerfile", "definition", "script"]),
    help="What the files are; told by name and content otherwise.",
)
@click.option(
    "--context", metavar="FOLDER", help="Build context, where .dockerignore lies. Else the file's own folder."
)
@click.option(
    "--ignore", "ignored", multiple=True, metavar="RULE=REASON", help="Waive a rule for all files; a reason is needed."
)
@click.option(
    "--format", "form", type=click.Choice(["text", "json", "sarif"]), default="text", show_default=True, help="Output."
)
@click.option(
    "--hadolint/--no-hadolint", default=True, show_default=True, help="Ask hadolint too, where it is installed."
)
@as_json
@click.pass_context
def lint(  # noqa: PLR0913 - one argument for each option
    ctx: click.Context,
    /,
    *,
    files: tuple[str, ...],
    role: str,
    kind: str | None,
    context: str | None,
    ignored: tuple[str, ...],
    form: str,
    hadolint: bool,
    is_json: bool,
) -> None:
    """Mistakes in Dockerfiles, Apptainer definition files and job scripts that cost GPUs, bytes or reproducibility.

    FILE - reads standard input. Each finding has the file, the line, the rule and the fix; a mistake that has to do
    with GPUs has its number too. hadolint is asked about Dockerfiles where it is installed.
    A comment above a line waives a rule there, DL… and SC… of hadolint as well:

    \b
      # gpu-commons lint ignore=D-ROOT reason="the driver container needs it"

    \b
    Examples:
      gpu-commons image lint Dockerfile
      gpu-commons image lint --role batch train/Dockerfile train/job.sbatch
      gpu-commons image lint --format sarif Dockerfile > lint.sarif
    """  # noqa: D301 - \b is click's: it keeps the lines
    from cli.linted import Asked, lint_files  # noqa: PLC0415 - see above

    if is_json and form == "sarif":
        raise click.UsageError("give --json or --format sarif, not both")
    if context is not None and not Path(context).is_dir():
        raise InputError(f"--context {context}: is not a folder; name the folder that is built")
    asked = Asked(role, kind, context, ignored, with_hadolint=hadolint)
    ctx.exit(lint_files(files, asked, "json" if is_json else form))


@image.command(
    short_help="What goes in, whether its CUDA runs on each pool, how big it will be.",
    epilog="Exit codes: 0 fine, 1 something in it does not run on a pool or that is not known, 2 usage.",
)
@click.argument("name")
@click.option("--stack", metavar="NAME|PATH", help="Stack whose pools are asked about. Else every one that builds it.")
@click.option("--target", metavar="TARGET", help="Which image of the spec: gateway-client, kernel or batch.")
@as_json
@click.pass_context
def plan(ctx: click.Context, /, name: str, stack: str | None, target: str | None, *, is_json: bool) -> None:
    """What goes into an image of ours, whether its CUDA runs on each pool and why, and how big it will be.

    NAME is the image's name or its folder. Nothing is built and nothing is asked of a network: the size is a lower
    bound from what `image sizes` has written beside the lock.

    \b
    Examples:
      gpu-commons image plan scipy-ml-notebook-cu126
      gpu-commons image plan images/cupy-notebook --stack dsmlp-fall
      gpu-commons image plan cupy-notebook --target batch
    """  # noqa: D301 - \b is click's: it keeps the lines
    from cli.planned import page_of  # noqa: PLC0415 - see above
    from cli.reports.plan import plan_data, plan_text  # noqa: PLC0415

    page = page_of(_family(name, target), _folder(name).parent, stack)
    click.echo(json_text(plan_data(page)) if is_json else plan_text(page, width=width(), paint=painter()), nl=is_json)
    ctx.exit(0 if page.is_fine else FINDINGS)


@image.command(short_help="Its Dockerfile, with a stage for each target.")
@click.argument("name")
@as_json
def render(name: str, *, is_json: bool) -> None:
    """The Dockerfile of an image of ours, with a stage for each of its targets: `docker build --target batch`.

    \b
    Example:
      gpu-commons image render scipy-ml-notebook > Dockerfile
    """  # noqa: D301 - \b is click's: it keeps the lines
    from images.build.render import render_dockerfile  # noqa: PLC0415 - see above

    text = render_dockerfile(_family(name))
    click.echo(json_text({"image": name, "dockerfile": text}) if is_json else text, nl=is_json)


@image.command(
    short_help="Build it, run its check, push or write it, and say what it turned out to be.",
    epilog="Exit codes: 0 built and checked; 1 a step, the check or the push failed; 2 usage: no builder, a spec with "
    "mistakes, a place that cannot be; 130 interrupted, and nothing is exported.",
)
@click.argument("name")
@click.option("--target", metavar="TARGET", help="Which image of the spec: gateway-client, kernel or batch.")
@click.option("--push", metavar="REPOSITORY[:TAG]", help="Push it; without a tag, to one made of its content.")
@click.option("--oci-layout", metavar="DIR", help="Write it as an OCI layout into a new or empty folder.")
@click.option("--docker-archive", metavar="FILE", help="Write it for docker load.")
@click.option("--stack", metavar="NAME|PATH", help="Take substitutes, builder and CA bundle of this stack's site.")
@click.option("--base", metavar="REF", help="Parent, for an image that stands on another of ours; else built first.")
@click.option("--builder", metavar="NAME", help="As docker buildx ls has it. Else the stack's, else the current one.")
@click.option(
    "--compression",
    type=click.Choice(["zstd", "gzip"]),
    help="Of all layers, the base's too. Not given: zstd for what is built here, the rest as it is.",
)
@click.option("--cache-from", multiple=True, metavar="REF|ATTRS", help="A cache to read beside the builder's own.")
@click.option("--cache-to", multiple=True, metavar="REF|ATTRS", help="Where to leave the cache for other builders.")
@click.option("--no-verify", is_flag=True, help="Leave its check out.")
@as_json
def build(name: str, *, is_json: bool, **options: Any) -> None:
    """Build an image of ours as a stack would, run its check, and export it.

    NAME is the image's name or its folder. Without --push, --oci-layout or --docker-archive it is built and checked,
    and stays in the builder's cache. What is exported is read back with all its layers, as by `inspect --deep`.

    docker buildx builds where it is installed; else buildctl, with the builder of that name, or at the address in
    BUILDKIT_HOST. A cache is a reference in a registry, or BuildKit's own attributes (type=gha). Credentials are
    those of docker login. A stack's site is read with its overlay, GPU_COMMONS_SITE.

    \b
    Examples:
      gpu-commons image build cupy-notebook
      gpu-commons image build cupy-notebook --target batch --docker-archive batch.tar
      gpu-commons image build cupy-notebook --push registry.example.edu/gpu-commons/cupy-notebook
      gpu-commons image build scipy-ml-notebook --stack dsmlp-fall --oci-layout scipy-ml-layout
    """  # noqa: D301 - \b is click's: it keeps the lines
    from cli.built import Asked  # noqa: PLC0415 - see above
    from cli.built import build as build_image  # noqa: PLC0415
    from cli.reports.build import build_data, build_text  # noqa: PLC0415

    built = build_image(_family(name), _folder(name).parent, Asked(**options))
    click.echo(json_text(build_data(built)) if is_json else build_text(built, paint=painter()), nl=is_json)


@image.command(short_help="The commands that resolve its pins anew.")
@click.argument("name")
@as_json
def lock(name: str, *, is_json: bool) -> None:
    """The commands that resolve the pins of an image of ours anew, and those of its targets under the same lock.

    \b
    Example:
      gpu-commons image lock scipy-ml-notebook | sh -e
    """  # noqa: D301 - \b is click's: it keeps the lines
    from images.spec.load import read_spec  # noqa: PLC0415 - see above
    from images.spec.lock import lock_command  # noqa: PLC0415

    command = lock_command(_read(lambda: read_spec(_folder(name))))
    click.echo(json_text({"image": name, "command": command}) if is_json else command)


@image.command(
    short_help="Ask the package index how big its wheels are.",
    epilog="Exit codes: 0 written, 2 usage, or the index does not have what is locked.",
)
@click.argument("name")
@as_json
def sizes(name: str, *, is_json: bool) -> None:
    """Ask the package index how big an image's wheels are, and keep that beside its lock, for `image plan`.

    The index is the one that uv or pip is set to (UV_DEFAULT_INDEX, PIP_INDEX_URL, pip.conf), else PyPI. Pages of the
    index are read, and the length of a file where a page does not tell it; nothing is downloaded.

    \b
    Example:
      gpu-commons image sizes scipy-ml-notebook
    """  # noqa: D301 - \b is click's: it keeps the lines
    from cli.reports.words import counted  # noqa: PLC0415 - see above
    from images.inspection.faults import InspectError  # noqa: PLC0415
    from images.size.estimate import amount  # noqa: PLC0415
    from images.spec.load import load_spec  # noqa: PLC0415
    from images.spec.wheels import SIZES_FILE, sizes_text, wanted_wheels  # noqa: PLC0415

    folder, spec = _folder(name), _read(lambda: load_spec(_folder(name)))
    wanted = wanted_wheels(spec, (folder / spec.python.lock).read_text() if spec.python else "")
    if not wanted:
        raise InputError(f"{spec.name} has no wheels; there is nothing to ask for")
    try:
        found = _asked(wanted)
    except InspectError as error:
        raise InputError(str(error)) from None
    path, total = folder / SIZES_FILE, sum(size.bytes for size in found)
    path.write_text(sizes_text(found))
    if is_json:
        click.echo(json_text({"image": spec.name, "file": str(path), "wheels": len(found), "bytes": total}))
    else:
        click.echo(f"wrote {path}: {counted(len(found), 'wheel')}, {amount(total)}")


def _asked(wanted: Sequence[Wanted]) -> list[WheelSize]:
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - for this command alone

    from images.inspection.index import Index, index_url  # noqa: PLC0415 - its network library is needed here only
    from images.inspection.opening import open_session  # noqa: PLC0415

    with open_session(os.environ, with_login=False) as session, ThreadPoolExecutor(_AT_ONCE) as threads:
        return list(threads.map(Index(session, index_url(os.environ)).size, wanted))


def _folder(name: str) -> Path:
    """An image by its name among ours, or by the path of its folder."""
    from images.spec.load import IMAGES, SPEC_FILE  # noqa: PLC0415 - see above

    given = Path(name)
    return IMAGES / name if given.name == name and not (given / SPEC_FILE).is_file() else given.resolve()


def _family(name: str, target: str | None = None) -> tuple[ImageSpec, ...]:
    from images.spec.load import load_family  # noqa: PLC0415 - see above

    folder = _folder(name)
    return _read(lambda: load_family(folder.name, images=folder.parent, target=target))


def _read(read: Callable[[], Read]) -> Read:
    from images.spec.load import SpecError  # noqa: PLC0415 - see above

    try:
        return read()
    except SpecError as error:
        raise InputError(str(error)) from None
