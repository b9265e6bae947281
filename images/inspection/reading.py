"""An image to its facts: from manifest and config alone, or with all layers read as a stream."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Protocol, TypeVar

from images.inspection import facts
from images.inspection.facts import Contents, ImageContents, LayerFound, Library, Package, Published, Settings
from images.inspection.faults import InspectError
from images.inspection.finders.copies import copies
from images.inspection.finders.device_code import DeviceCodeFinder
from images.inspection.finders.finder import MOST, Finder, Sink
from images.inspection.finders.libraries import LibraryFinder
from images.inspection.finders.packages import PackageFinder
from images.inspection.finders.places import biggest, caches
from images.inspection.finders.statements import StatementFinder
from images.inspection.finders.system import SystemFinder
from images.inspection.layers import Entry, Volume, entries, named_compression
from images.inspection.manifest import (
    Config,
    Descriptor,
    Document,
    Index,
    Manifest,
    Platform,
    choose,
    read_config,
    read_root,
)
from images.inspection.secrets import hide, hide_in_command, hide_in_words
from images.inspection.sources import Source, short
from images.inspection.store import Store
from images.inspection.tree import Tree

DEFAULT_PLATFORM: Final = Platform(os="linux", architecture="amd64")
_STEP_SHOWN: Final = 200


class _Found(Protocol):
    @property
    def path(self) -> str: ...

    @property
    def layer(self) -> int: ...


_Part = TypeVar("_Part", bound=_Found)


@dataclass(frozen=True, slots=True)
class Progress:
    """Where reading is: layer `number` of `count`, so many of its compressed bytes."""

    number: int
    count: int
    read_bytes: int
    layer_bytes: int


@dataclass(frozen=True, slots=True)
class Inspected:
    """An image as it was asked for. `published` has all platforms, where it is an index."""

    name: str
    contents: ImageContents
    published: Published | None
    is_cached: bool


def inspect(  # noqa: PLR0913 - each is a choice of its own
    source: Source,
    *,
    wanted: Platform = DEFAULT_PLATFORM,
    deep: bool = False,
    pinned: str = "",
    store: Store | None = None,
    tell: Callable[[Progress], None] | None = None,
) -> Inspected:
    """Facts of one image. `pinned` is the digest of its reference, if it has one: then the store may answer alone.

    Raises InspectError. Nothing is kept of an image that could not be read to its end.
    """
    name = source.name
    if store is not None and pinned and (found := from_store(name, store, pinned, wanted, deep=deep)):
        return found
    root = source.root()
    top = read_root(name, root)
    published, digest, document = None, root.digest, root
    if isinstance(top, Index):
        descriptor = choose(name, top, wanted)
        images = tuple((str(each.platform or "?"), each.digest) for each in top.images)
        published, digest = Published(facts.VERSION, root.digest, images), descriptor.digest
    if store is not None and (known := store.contents(digest, deep=deep)):
        check_platform(name, known.platform, wanted)
        if published:
            store.keep(published)
        return Inspected(name, known, published, is_cached=True)
    if isinstance(top, Index):
        document = source.document(descriptor, is_manifest=True)
        top = read_root(name, document)
    if not isinstance(top, Manifest):
        raise InspectError(name, "is an index of indexes", "give the digest of one of the images in it")
    config = read_config(name, source.document(top.config, is_manifest=False).content)
    check_platform(name, str(config.platform), wanted)
    contents = _plain(digest, document, top, config)
    if deep:
        contents = replace(contents, deep=read_layers(source, top, store, tell))
    if store is not None:
        store.keep(contents)
        if published:
            store.keep(published)
    return Inspected(name, contents, published, is_cached=False)


def read_layers(
    source: Source,
    manifest: Manifest,
    store: Store | None = None,
    tell: Callable[[Progress], None] | None = None,
) -> Contents:
    """All layers, one after the other, in bounded memory; nothing of them is stored but their facts.

    A layer that was read before, of this image or another, is taken from the store. Raises InspectError.
    """
    tree, volume, found = Tree(source.name), Volume(source.name), LayerFound(0)
    left_out = []
    for number, layer in enumerate(manifest.layers):
        tree.begin_layer()
        if layer.is_foreign or "encrypted" in layer.media_type:
            why = "encrypted" if "encrypted" in layer.media_type else "foreign: its publisher hands it out elsewhere"
            left_out.append(f"layer {short(layer.digest)} was not read, it is {why}")
            continue
        told = _teller(tell, number, len(manifest.layers), layer)
        one = _known_layer(store, layer, tree, volume) if store else None
        if one is None:
            one = _read_layer(source, layer, tree, volume, store, told)
        else:
            told(layer.size)
        found = merged(found, one, number)
    return contents_of(found, tree, volume.unpacked, tuple(left_out))


def _known_layer(store: Store, layer: Descriptor, tree: Tree, volume: Volume) -> LayerFound | None:
    known = store.layer(layer.digest)
    if known is None:
        return None
    volume.grow(known.found.unpacked_bytes)
    for listed in known.files():
        tree.add(listed)
    return known.found


def _read_layer(  # noqa: PLR0913, PLR0917 - what one layer has to do with
    source: Source,
    layer: Descriptor,
    tree: Tree,
    volume: Volume,
    store: Store | None,
    told: Callable[[int], None],
) -> LayerFound:
    finders, before = Finders(), volume.unpacked

    def counted(piece: bytes) -> bytes:
        told(len(piece))
        return piece

    with (
        source.blob(layer) as pieces,
        store.new_layer(layer.digest) if store else nullcontext(None) as record,
    ):
        for entry in entries(source.name, layer, map(counted, pieces), volume):
            if record:
                record.add(entry)
            read_entry(entry, tree, finders)
        for _ in pieces:  # what comes after the compressed stream; the digest is checked at the very end
            pass
        found = finders.found(volume.unpacked - before)
        if record:
            record.finish(found)
    return found


def read_entry(entry: Entry, tree: Tree, finders: Finders) -> None:
    """One member of a layer: into the tree, and through the finders that want its content."""
    tree.add(entry)
    if entry.kind != "file" or entry.path.rpartition("/")[2].startswith(".wh."):
        return
    if sinks := finders.sinks(entry):
        for piece in entry.pieces():
            for sink in sinks:
                sink.feed(piece)
        for sink in sinks:
            sink.end()


class Finders:
    """All finders of one layer."""

    def __init__(self) -> None:
        self.code = DeviceCodeFinder()
        self.libraries = LibraryFinder()
        self.packages = PackageFinder()
        self.statements = StatementFinder()
        self.system = SystemFinder()
        self._all: tuple[Finder, ...] = (self.code, self.libraries, self.packages, self.statements, self.system)

    def sinks(self, entry: Entry) -> list[Sink]:
        return [sink for finder in self._all if (sink := finder.open(entry)) is not None]

    def found(self, unpacked: int) -> LayerFound:
        """What they found, once all files have gone by."""
        return LayerFound(
            unpacked_bytes=unpacked,
            distribution=(*self.packages.glibc, *self.system.found),
            packages=tuple(self.packages.found),
            libraries=tuple(self.libraries.found),
            statements=tuple(self.statements.found),
            code=tuple(self.code.found),
            driver=tuple(self.libraries.driver),
            compat=tuple(self.libraries.compat),
        )


def merged(below: LayerFound, one: LayerFound, number: int) -> LayerFound:
    """All that was found in the layers up to `number`, which `one` is of; bounded, as finders are."""

    def both(name: str) -> tuple[Any, ...]:
        own = (replace(each, layer=number) for each in getattr(one, name))
        return (*getattr(below, name), *own)[:MOST]

    names = (each.name for each in fields(LayerFound) if each.name != "unpacked_bytes")
    return LayerFound(below.unpacked_bytes + one.unpacked_bytes, **{name: both(name) for name in names})


def contents_of(found: LayerFound, tree: Tree, unpacked: int, left_out: tuple[str, ...]) -> Contents:
    """What a container sees of what was found: files that a later layer replaced or removed are gone."""

    def seen(parts: Iterable[_Part]) -> tuple[_Part, ...]:
        return tuple(each for each in parts if (there := tree.find(each.path)) and there[1] == each.layer)

    packages = seen(found.packages)
    libraries = tuple(with_version(each, packages) for each in seen(found.libraries))
    distribution = seen(found.distribution)
    systems = [each.value for each in distribution if each.what == "system"]
    by_dpkg_first = sorted((each for each in distribution if each.what == "glibc"), key=lambda each: each.of != "dpkg")
    return Contents(
        unpacked_bytes=unpacked,
        files=tree.count(),
        layers=tuple(facts.LayerUse(*both) for both in zip(tree.unpacked, tree.wasted, strict=True)),
        system=systems[-1] if systems else "",
        glibc=by_dpkg_first[-1].value if by_dpkg_first else "",
        packages=tuple(sorted(packages, key=lambda each: (each.name, each.version))),
        libraries=tuple(sorted(libraries, key=lambda each: (each.name, each.path))),
        statements=seen(found.statements),
        code=tuple(sorted(seen(found.code), key=lambda each: each.path)),
        driver=seen(found.driver),
        compat=seen(found.compat),
        copies=copies(libraries, packages),
        caches=caches(tree.folders()),
        biggest=biggest(tree.folders()),
        left_out=left_out,
    )


_WHEELS_OF: Final = {
    "cudart": r"nvidia-cuda-runtime(-cu\d+)?",
    "cublas": r"nvidia-cublas(-cu\d+)?",
    "cublasLt": r"nvidia-cublas(-cu\d+)?",
    "cudnn": r"nvidia-cudnn(-cu\d+)?",
    "nccl": r"nvidia-nccl(-cu\d+)?",
    "nvrtc": r"nvidia-cuda-nvrtc(-cu\d+)?",
}


def with_version(library: Library, packages: tuple[Package, ...]) -> Library:
    """The library with the version of the wheel it came in: wheels name files by their major version alone."""
    top, is_wheel, _ = library.path.rpartition("/nvidia/")
    form = _WHEELS_OF.get(library.name)
    if not is_wheel or form is None:
        return library
    for package in packages:
        if package.kind == "wheel" and package.path.startswith(f"{top}/") and re.fullmatch(form, package.name):
            return replace(library, version=package.version)
    return library


def _plain(digest: str, document: Document, manifest: Manifest, config: Config) -> ImageContents:
    steps = config.steps()
    layers = tuple(
        facts.Layer(
            digest=layer.digest,
            media_type=layer.media_type,
            compression=named_compression(layer.media_type),
            compressed_bytes=layer.size,
            is_foreign=layer.is_foreign,
            made_by=hide_in_command(steps[number])[:_STEP_SHOWN] if number < len(steps) else "",
        )
        for number, layer in enumerate(manifest.layers)
    )
    return ImageContents(
        version=facts.VERSION,
        digest=digest,
        media_type=document.media_type,
        platform=str(config.platform),
        created=config.created,
        layers=layers,
        settings=_settings(config),
    )


def _settings(config: Config) -> Settings:
    process = config.config
    env = [(key, value) for key, _, value in (line.partition("=") for line in process.env)]
    return settings_of(
        env,
        process.labels,
        user=process.user or "",
        entry_point=hide_in_words(process.entrypoint),
        command=hide_in_words(process.cmd),
        folder=process.working_dir or "",
    )


def settings_of(env: Sequence[tuple[str, str]], labels: Mapping[str, str], **others: Any) -> Settings:
    """Settings without secrets. `others` are fields that have none."""
    return Settings(
        env=tuple((key, hide(key, value)) for key, value in env),
        labels=tuple((key, hide(key, value)) for key, value in sorted(labels.items())),
        secrets=tuple(key for key, value in (*env, *labels.items()) if hide(key, value) != value),
        **others,
    )


def from_store(name: str, store: Store, pinned: str, wanted: Platform, *, deep: bool) -> Inspected | None:
    """What was read before of an image or an index, for one platform. Raises InspectError where it has another one."""
    published = store.published(pinned)
    digest = pinned
    if published is not None:
        fitting = [digest for text, digest in published.images if _serves(text, wanted)]
        if not fitting:
            return None
        digest = fitting[0]
    known = store.contents(digest, deep=deep)
    if known is None:
        return None
    check_platform(name, known.platform, wanted)
    return Inspected(name, known, published, is_cached=True)


def check_platform(name: str, found: str, wanted: Platform) -> None:
    if not _serves(found, wanted):
        raise InspectError(name, f"is an image for {found}, not for {wanted}", f"add --platform {found}")


def _serves(found: str, wanted: Platform) -> bool:
    try:
        return Platform.parse(found).serves(wanted)
    except ValueError:
        return False


def _teller(
    tell: Callable[[Progress], None] | None, number: int, count: int, layer: Descriptor
) -> Callable[[int], None]:
    read = 0

    def told(more: int) -> None:
        nonlocal read
        read += more
        if tell is not None:
            tell(Progress(number + 1, count, read, layer.size))

    return told
