"""`gpu-commons image build`: builds an image, checks it, pushes or writes it, and reads it back."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any, Final

import click

from cli.image.build_report import Built, build_data, build_text
from cli.image.project_images import family_of, folder_of
from cli.stacks import read_stack, site_overlay
from cli.terminal import InputError, StatusLine, as_json, json_text, painter
from errors.problems import show
from imaging.build.building import Check, Destination, Kind, Order, Packing, build_image, content_tag, dockerfiles
from imaging.build.buildkit import find_client
from imaging.build.faults import BuildError, NoBuilderError
from imaging.build.modules import StepSize, step_size
from imaging.inspection.faults import InspectError
from imaging.inspection.image_locations import open_session, registry_image
from imaging.inspection.layouts import DockerArchive, OciLayout
from imaging.inspection.reading import Inspected, inspect
from imaging.inspection.store import Store, store_folder
from imaging.references import ImageReference
from imaging.spec.load import load_family
from imaging.spec.model import ImageSpec
from imaging.spec.plan import Substitute, plan_image
from settings.reading import Stack

_TERMINATED: Final = 128 + signal.SIGTERM
Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Options:
    """The options of a call."""

    push: str | None = None
    oci_layout: str | None = None
    docker_archive: str | None = None
    stack: str | None = None
    base: str | None = None
    builder: str | None = None
    compression: str | None = None
    cache_from: Sequence[str] = ()
    cache_to: Sequence[str] = ()
    no_verify: bool = False
    target: str | None = None


class FailedError(click.ClickException):
    """A build, a check or a push that failed. The text is the whole message for people."""

    exit_code = 1


@click.command(
    epilog="Exit codes: 0 built and checked; 1 a step, the check or the push failed; 2 usage: no builder, a spec with "
    "mistakes, an impossible destination; 130 interrupted: nothing is exported.",
)
@click.argument("name")
@click.option("--target", metavar="TARGET", help="Which image of the spec: gateway-client, kernel or batch.")
@click.option("--push", metavar="REPOSITORY[:TAG]", help="Push it; the default tag is derived from its content.")
@click.option("--oci-layout", metavar="DIR", help="Write it as an OCI layout to a new or empty folder.")
@click.option("--docker-archive", metavar="FILE", help="Write it as an archive for docker load.")
@click.option("--stack", metavar="NAME|PATH", help="Use the substitutes, builder and CA bundle of this stack's site.")
@click.option(
    "--base",
    metavar="REF",
    help="Parent of an image that is based on another of this project. Default: it is built first.",
)
@click.option(
    "--builder", metavar="NAME", help="As docker buildx ls lists it. Default: that of the stack, or the current one."
)
@click.option(
    "--compression",
    type=click.Choice(["zstd", "gzip"]),
    help="For all layers, those of the base included. Default: zstd for new layers, the others unchanged.",
)
@click.option(
    "--cache-from", multiple=True, metavar="REF|ATTRS", help="A cache to read in addition to the builder's own."
)
@click.option("--cache-to", multiple=True, metavar="REF|ATTRS", help="Where to export the cache for other builders.")
@click.option("--no-verify", is_flag=True, help="Skip its check.")
@as_json
def build(name: str, *, is_json: bool, **options: Any) -> None:
    """Build an image of this project as a stack would, run its check, and export it.

    NAME is the name of the image, or its folder. Without --push, --oci-layout or --docker-archive the image is built
    and checked, and stays in the builder's cache. An exported image is read back with all its layers, as by
    `inspect --deep`.

    docker buildx builds the image if it is installed; otherwise buildctl does, with the builder of that name or at the
    address in BUILDKIT_HOST. A cache is a reference in a registry, or attributes of BuildKit (type=gha). Credentials
    are those of docker login. With --stack, the site is read with its overlay, GPU_COMMONS_SITE.

    \b
    Examples:
      gpu-commons image build cupy-notebook
      gpu-commons image build cupy-notebook --target batch --docker-archive batch.tar
      gpu-commons image build cupy-notebook --push registry.example.edu/gpu-commons/cupy-notebook
      gpu-commons image build scipy-ml-notebook --stack dsmlp-fall --oci-layout scipy-ml-layout
    """
    built = built_by(family_of(name), folder_of(name).parent, Options(**options))
    click.echo(json_text(build_data(built)) if is_json else build_text(built, paint=painter()), nl=is_json)


def built_by(family: Sequence[ImageSpec], images: Path, options: Options) -> Built:
    """Build `family[0]`; `images` has the folders of all. Raises FailedError, and InputError for wrong options."""
    settings = read_stack(options.stack, site=site_overlay()) if options.stack is not None else None
    order = _order(family, images, options, settings)
    plan = plan_image([order.spec, *family[1:]], substitutes=order.substitutes)
    try:
        client = find_client(options.builder or (settings.site.builder if settings else None) or "")
        sizes: list[StepSize] = []
        with _ended_by_signals(), _progress() as (report, on_line):
            digest = build_image(order, client, report, _noting(sizes, on_line))
            if digest:
                report(f"{plan.spec.full_name}: reading what was exported")
    except NoBuilderError:
        raise
    except BuildError as error:
        raise FailedError(str(error)) from None
    try:
        found = _read_back(order.destination, digest) if digest else None
    except InspectError as error:
        raise FailedError(f"the exported image cannot be read back: {error}") from None
    return Built(plan, order.destination, order.check is Check.FIRST, found, _biggest_first(sizes))


def _biggest_first(sizes: Sequence[StepSize]) -> tuple[StepSize, ...]:
    """Each once, biggest first: the check repeats stages, in parallel."""
    return tuple(sorted(set(sizes), key=lambda each: (-each.bytes, each.what)))


def _noting(sizes: list[StepSize], on_line: Progress) -> Progress:
    """`on_line`, also noting steps whose files no image keeps; a cached step prints none."""

    def note(line: str) -> None:
        if size := step_size(line):
            sizes.append(size)
        on_line(line)

    return note


def _order(family: Sequence[ImageSpec], images: Path, options: Options, settings: Stack | None) -> Order:
    spec = family[0]
    substitutes = [
        Substitute(each.reference, each.replacement, each.reason)
        for each in (settings.site.substitutes if settings else ())
    ]
    ca_bundle = Path(settings.site.ca_bundle) if settings and settings.site.ca_bundle else None
    if ca_bundle and not ca_bundle.is_file():
        raise InputError(f"site.ca_bundle: {show(str(ca_bundle))} is not a file here; name a PEM file of this machine")
    if options.base and not spec.base.image:
        raise InputError(
            f"--base {show(options.base)}: the spec of {spec.name} names its own base; leave the option out"
        )
    texts = dockerfiles(family, substitutes=substitutes, ca_bundle=ca_bundle)
    return Order(
        family=family,
        spec=load_family(spec.name, images=images, target=options.target)[0],
        images=images,
        substitutes=substitutes,
        ca_bundle=ca_bundle,
        base=str(_reference("--base", options.base)) if options.base else None,
        # All targets share one Dockerfile: in one repository, each needs its own tag.
        destination=_destination(
            options, "-".join([content_tag(family, images, texts), *filter(None, [options.target])])
        ),
        packing=_packing(options),
        check=Check.LEFT_OUT if options.no_verify else Check.FIRST,
        cache_from=[_cache(text, {}) for text in options.cache_from],
        cache_to=[_cache(text, _CACHE_TO) for text in options.cache_to],
    )


def _packing(options: Options) -> Packing:
    if options.docker_archive is not None:  # docker load reads no other format
        return Packing("gzip", is_forced=True)
    return Packing(options.compression or "zstd", is_forced=options.compression is not None)


def _destination(options: Options, tag: str) -> Destination:
    targets = [option for option in (options.push, options.oci_layout, options.docker_archive) if option is not None]
    if len(targets) > 1:
        raise InputError(
            "--push, --oci-layout and --docker-archive: give only one of them; a second build comes from the cache"
        )
    if options.push is not None:
        reference = _reference("--push", options.push)
        if reference.digest:
            raise InputError(
                f"--push {show(options.push)}: has a digest, which only the build can determine; leave it out"
            )
        return Destination(Kind.REGISTRY, f"{reference.registry}/{reference.repository}:{reference.tag or tag}")
    if options.oci_layout is not None:
        folder = Path(options.oci_layout).absolute()
        if folder.exists() and not folder.is_dir():
            raise InputError(f"--oci-layout {folder}: is a file; name a new folder, or use --docker-archive")
        if folder.exists() and any(folder.iterdir()):
            raise InputError(f"--oci-layout {folder}: is not empty; name a new folder, or empty this one")
        return Destination(Kind.OCI_LAYOUT, str(folder))
    if options.docker_archive is not None:
        if options.compression == "zstd":
            raise InputError("--compression zstd: a docker archive has gzip layers; leave it out, or use --oci-layout")
        file = Path(options.docker_archive).absolute()
        if file.is_dir():
            raise InputError(f"--docker-archive {file}: is a folder; name a file, such as {file / 'image.tar'}")
        return Destination(Kind.DOCKER_ARCHIVE, str(file))
    return Destination()


def _reference(option: str, text: str) -> ImageReference:
    try:
        return ImageReference.parse(text)
    except ValueError as error:
        raise InputError(f"{option} {show(text)}: {error}") from None


_CACHE_TO: Final[Mapping[str, str]] = {"mode": "max", "image-manifest": "true", "oci-mediatypes": "true"}


def _cache(text: str, more: Mapping[str, str]) -> dict[str, str]:
    """A reference is a registry cache of all stages; attributes are BuildKit's own."""
    if "=" in text:
        return dict(part.partition("=")[::2] for part in text.split(","))
    return {"type": "registry", "ref": str(_reference("--cache-from, --cache-to", text)), **more}


def _read_back(destination: Destination, digest: str) -> Inspected:
    store = Store(store_folder(os.environ))
    if destination.kind is Kind.OCI_LAYOUT:
        return inspect(OciLayout(Path(destination.place)), deep=True, store=store)
    if destination.kind is Kind.DOCKER_ARCHIVE:
        return inspect(DockerArchive(Path(destination.place)), deep=True, store=store)
    pushed = f"{destination.place}@{digest}"
    with open_session(os.environ, with_login=True, connections=4) as session:
        return inspect(registry_image(session, pushed), deep=True, pinned=digest, store=store)


@contextmanager
def _ended_by_signals() -> Iterator[None]:
    """Handle SIGTERM (`kill`, a cancelled CI job) like Ctrl-C: end children and remove drafts."""

    def leave(number: int, frame: FrameType | None) -> None:  # noqa: ARG001 - a signal handler
        raise SystemExit(_TERMINATED)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _progress() -> Iterator[tuple[Progress, Progress]]:
    """Two functions that write to stderr: steps, and builder output, which a terminal shows in place."""
    status = StatusLine()

    def report(text: str) -> None:
        status.clear()
        click.echo(text, err=True)

    def on_line(line: str) -> None:
        if line.strip():
            (status.show if status.columns else report)(line)

    try:
        yield report, on_line
    finally:
        status.clear()
