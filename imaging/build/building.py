"""Builds a spec's image with BuildKit: first our ancestor images, then the check, then the export.

Pure functions, shared with `GpuImage`, decide what is built: a spec has the same Dockerfile, arguments and tag in
both. `build_image` acts.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Final

from imaging.build.buildkit import OCI_LAYOUT, Build, Client, run_build
from imaging.build.faults import BuildError
from imaging.build.instructions import CA_CONTEXT
from imaging.build.render import VERIFYING_CONTEXT, build_arguments, render_dockerfile, stage_of, verify_stage_of
from imaging.references import ImageReference
from imaging.spec.load import VERIFYING, context_files
from imaging.spec.model import ImageSpec
from imaging.spec.plan import Substitute
from imaging.spec.targets import kind_of

PLATFORM: Final = "linux/amd64"
CHECKED_LABEL: Final = "org.gpu-commons.checks"  # of a build that is only a check: what it checks, by its tag
# At level 0, the default, the plug-in drops all three options: the result is silently gzip, or the builder's setting.
LEVELS: Final = MappingProxyType({"zstd": 3, "gzip": 6})
_TAG_DIGITS: Final = 16
_BY_DIGEST: Final = {"push-by-digest": "true", "name-canonical": "true"}


class Kind(Enum):
    """Target of an image."""

    NOWHERE = "nowhere"  # only in the builder's cache
    REGISTRY = "registry"
    OCI_LAYOUT = "OCI layout"
    DOCKER_ARCHIVE = "docker archive"


@dataclass(frozen=True, slots=True)
class Destination:
    """`place` is a reference, a folder or a file; empty if the image goes nowhere.

    A reference without a tag stores an image by digest only.
    """

    kind: Kind = Kind.NOWHERE
    place: str = ""


class Check(Enum):
    """Whether to build the stage `verify` before the export."""

    FIRST = "first"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class Packing:
    """Compression of layers: zstd or gzip. `is_forced` recompresses layers of a base with another compression."""

    compression: str = "zstd"
    is_forced: bool = False


@dataclass(frozen=True, slots=True)
class Order:
    """A build: image, inputs and destination."""

    family: Sequence[ImageSpec]  # as from `load_family`: the image, then our ancestor images
    spec: ImageSpec  # the first of them, or one of its targets
    images: Path  # the parent of their folders
    substitutes: Sequence[Substitute] = ()
    ca_bundle: Path | None = None
    base: str | None = None  # reference of the parent; None: build our parents first
    destination: Destination = field(default_factory=Destination)
    packing: Packing = field(default_factory=Packing)
    check: Check = Check.FIRST
    cache_from: Sequence[Mapping[str, str]] = ()
    cache_to: Sequence[Mapping[str, str]] = ()


def dockerfiles(
    family: Sequence[ImageSpec], *, substitutes: Sequence[Substitute] = (), ca_bundle: Path | None = None
) -> list[str]:
    """Those of the image and of its ancestors, in the order of `family`. Raises SpecError."""
    ca = ca_bundle.name if ca_bundle else None
    return [render_dockerfile(family[at:], substitutes=substitutes, ca=ca) for at in range(len(family))]


def content_tag(family: Sequence[ImageSpec], images: Path, dockerfiles: Sequence[str]) -> str:
    """Hash of all content inputs that are known before a build, including our ancestor images."""
    digest = hashlib.sha256()
    for spec, dockerfile in zip(family, dockerfiles, strict=True):
        digest.update(dockerfile.encode())
        for key, value in sorted(build_arguments(spec).items()):
            digest.update(f"{key}={value}\0".encode())
        for path in context_files(images / spec.name):
            digest.update(f"{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:_TAG_DIGITS]


def build_of(order: Order, at: int, base: str | None) -> Build:
    """The build of `order.family[at]` on `base`, without target and outputs."""
    spec, ca = order.family[at], order.ca_bundle
    site = {CA_CONTEXT: str(ca.parent)} if ca else {}
    text = render_dockerfile(order.family[at:], substitutes=order.substitutes, ca=ca.name if ca else None)
    return Build(
        context=order.images / spec.name,
        dockerfile=text,
        named={**site, VERIFYING_CONTEXT: str(VERIFYING)},
        build_args={**build_arguments(spec), **({"BASE": base} if base else {})},
        platforms=(PLATFORM,),
        cache_from=order.cache_from,
    )


def output(destination: Destination, packing: Packing, name: str) -> dict[str, str]:
    """Attributes of BuildKit's exporter; a file or folder is written at `destination.place`."""
    packed = {"compression": packing.compression, "force-compression": "true" if packing.is_forced else "false"}
    if packing.compression == "zstd":
        packed["compression-level"] = str(LEVELS["zstd"])
    if destination.kind is Kind.REGISTRY:
        pushed = {"type": "image", "name": destination.place, "push": "true", "oci-mediatypes": "true"}
        return {**pushed, **({} if ImageReference.parse(destination.place).tag else _BY_DIGEST), **packed}
    if destination.kind is Kind.OCI_LAYOUT:
        return {"type": "oci", "tar": "false", "dest": destination.place, **packed}
    return {"type": "docker", "name": name, "dest": destination.place, **packed}


def build_image(order: Order, client: Client, tell: Callable[[str], None], on_line: Callable[[str], None]) -> str:
    """Build, check, export; return the digest of the export, or "" if there was none.

    `tell` gets each step at its start, `on_line` each line of the builder. Raises BuildError. A file or folder appears
    complete or not at all, and a registry takes the manifest after all layers: an interrupted build leaves no image.
    A push also pushes our ancestor images first, by digest only: the image has their layers anyway, and existing
    layers are not sent again.
    """

    def run(build: Build) -> str:
        return run_build(build, client, on_line, lambda: False)

    spec = order.spec
    with TemporaryDirectory(prefix="image-build-") as folder:
        base: str | None = order.base
        named: Mapping[str, str] = {}
        if base is None:
            for at in range(len(order.family) - 1, 0, -1):
                base, named = _parent(order, at, base, named, Path(folder), tell, run)
        build = build_of(order, 0, base)
        stage = stage_of(spec) if kind_of(spec) else ""  # none: the last stage, the spec's own image
        build = replace(build, named={**build.named, **named}, target=stage)
        if order.check is Check.FIRST:
            tell(f"{spec.full_name}: building it and running its check")
            run(replace(build, target=verify_stage_of(spec)))
        if order.destination.kind is Kind.NOWHERE:
            if order.check is Check.LEFT_OUT:
                tell(f"{spec.full_name}: building it")
            run(replace(build, cache_to=order.cache_to))
            return ""
        tell(f"{spec.full_name}: {'pushing' if order.destination.kind is Kind.REGISTRY else 'writing'} it")
        with _whole_or_not(order.destination) as destination:
            outputs = [output(destination, order.packing, f"{spec.full_name}:{spec.version}")]
            return run(replace(build, outputs=outputs, cache_to=order.cache_to))


def _parent(  # noqa: PLR0913, PLR0917 - values of its only caller
    order: Order,
    at: int,
    base: str | None,
    named: Mapping[str, str],
    folder: Path,
    tell: Callable[[str], None],
    run: Callable[[Build], str],
) -> tuple[str, Mapping[str, str]]:
    """Build an ancestor; return its reference for the next build, and its place if it is only local."""
    spec = order.family[at]
    tell(f"{spec.name}: building what {order.family[at - 1].name} stands on")
    build = build_of(order, at, base)
    place = Destination(Kind.OCI_LAYOUT, str(folder / spec.name))
    if order.destination.kind is Kind.REGISTRY:
        place = Destination(Kind.REGISTRY, ImageReference.parse(order.destination.place).repository_in_full)
    digest = run(replace(build, named={**build.named, **named}, outputs=[output(place, order.packing, "")]))
    if place.kind is Kind.REGISTRY:
        return f"{place.place}@{digest}", {}
    reference = f"{spec.name}@{digest}"
    return reference, {reference: f"{OCI_LAYOUT}{place.place}@{digest}"}


@contextmanager
def _whole_or_not(destination: Destination) -> Iterator[Destination]:
    """A draft beside the wanted place, moved there on success."""
    if destination.kind is Kind.REGISTRY:
        yield destination
        return
    wanted = Path(destination.place)
    try:
        wanted.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=f".{wanted.name}-", dir=wanted.parent) as folder:
            draft = Path(folder) / wanted.name
            yield Destination(destination.kind, str(draft))
            draft.replace(wanted)  # over an empty folder or an old file
    except OSError as error:
        raise BuildError(f"{error.filename or wanted} cannot be written: {error.strerror}") from None
