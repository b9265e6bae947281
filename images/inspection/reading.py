"""An image to its facts: from manifest and config alone, or with all layers read as a stream."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from images.inspection import facts
from images.inspection.facts import Contents, ImageContents, Library, Package, Published, Settings
from images.inspection.faults import InspectError
from images.inspection.finders.copies import copies
from images.inspection.finders.device_code import DeviceCodeFinder
from images.inspection.finders.finder import Finder, Sink
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
from images.inspection.secrets import HIDDEN, hide, hide_in_command
from images.inspection.sources import Source, short
from images.inspection.store import Store
from images.inspection.tree import Tree

DEFAULT_PLATFORM: Final = Platform(os="linux", architecture="amd64")
_STEP_SHOWN: Final = 200


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
        contents = _with_layers(contents, read_layers(source, top, tell))
    if store is not None:
        store.keep(contents)
        if published:
            store.keep(published)
    return Inspected(name, contents, published, is_cached=False)


def read_layers(source: Source, manifest: Manifest, tell: Callable[[Progress], None] | None = None) -> Contents:
    """All layers, one after the other, in bounded memory; nothing is stored. Raises InspectError."""
    tree, volume, found = Tree(source.name), Volume(), Finders()
    left_out = []
    for number, layer in enumerate(manifest.layers):
        tree.begin_layer()
        if layer.is_foreign or "encrypted" in layer.media_type:
            why = "encrypted" if "encrypted" in layer.media_type else "foreign: its publisher hands it out elsewhere"
            left_out.append(f"layer {short(layer.digest)} was not read, it is {why}")
            continue
        _read_layer(source, layer, number, tree, volume, found, _teller(tell, number, len(manifest.layers), layer))
    return found.contents(tree, volume, tuple(left_out))


def _read_layer(  # noqa: PLR0913, PLR0917 - what one layer has to do with
    source: Source,
    layer: Descriptor,
    number: int,
    tree: Tree,
    volume: Volume,
    found: Finders,
    told: Callable[[bytes], bytes],
) -> None:
    with source.blob(layer) as pieces:
        for entry in entries(source.name, layer, map(told, pieces), volume):
            read_entry(entry, number, tree, found)
        for _ in pieces:  # what comes after the compressed stream; the digest is checked at the very end
            pass


def read_entry(entry: Entry, layer: int, tree: Tree, found: Finders) -> None:
    """One member of a layer: into the tree, and through the finders that want its content."""
    tree.add(entry)
    if entry.kind != "file" or entry.path.rpartition("/")[2].startswith(".wh."):
        return
    if sinks := found.sinks(entry, layer):
        for piece in entry.pieces():
            for sink in sinks:
                sink.feed(piece)
        for sink in sinks:
            sink.end()


class Finders:
    """All finders of one image."""

    def __init__(self) -> None:
        self.code = DeviceCodeFinder()
        self.libraries = LibraryFinder()
        self.packages = PackageFinder()
        self.statements = StatementFinder()
        self.system = SystemFinder()
        self._all: tuple[Finder, ...] = (self.code, self.libraries, self.packages, self.statements, self.system)

    def sinks(self, entry: Entry, layer: int) -> list[Sink]:
        return [sink for finder in self._all if (sink := finder.open(entry, layer)) is not None]

    def contents(self, tree: Tree, volume: Volume, left_out: tuple[str, ...]) -> Contents:
        """What a container sees of what was found: files that a later layer replaced or removed are gone."""

        def is_seen(path: str, layer: int) -> bool:
            there = tree.find(path)
            return there is not None and there[1] == layer

        packages = tuple(each for each in self.packages.found if is_seen(each.path, each.layer))
        libraries = tuple(
            with_version(each, packages) for each in self.libraries.found if is_seen(each.path, each.layer)
        )
        glibc = [version for version, path, layer in (*self.packages.glibc, *self.system.glibc) if is_seen(path, layer)]
        systems = [name for name, path, layer in self.system.system if is_seen(path, layer)]
        return Contents(
            unpacked_bytes=volume.unpacked,
            files=tree.count(),
            layers=tuple(
                facts.LayerUse(unpacked, wasted) for unpacked, wasted in zip(tree.unpacked, tree.wasted, strict=True)
            ),
            system=systems[-1] if systems else "",
            glibc=glibc[-1] if glibc else "",
            packages=tuple(sorted(packages, key=lambda each: (each.name, each.version))),
            libraries=tuple(sorted(libraries, key=lambda each: (each.name, each.path))),
            statements=tuple(each for each in self.statements.found if is_seen(each.path, each.layer)),
            code=tuple(sorted((c for c in self.code.found if is_seen(c.path, c.layer)), key=lambda each: each.path)),
            driver=tuple(each for each in self.libraries.driver if is_seen(each.path, each.layer)),
            compat=tuple(each for each in self.libraries.compat if is_seen(each.path, each.layer)),
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
            return facts.Library(library.name, package.version, library.path, library.layer, library.size)
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
    given = [(key, value) for key, _, value in (line.partition("=") for line in process.env)]
    env = tuple((key, hide(key, value)) for key, value in given)
    labels = tuple((key, hide(key, value)) for key, value in sorted(process.labels.items()))
    hidden = [key for key, value in (*given, *process.labels.items()) if hide(key, value) != value]
    return Settings(
        env=env,
        labels=labels,
        user=process.user or "",
        entry_point=_hidden(process.entrypoint),
        command=_hidden(process.cmd),
        folder=process.working_dir or "",
        secrets=tuple(hidden),
    )


def _hidden(words: tuple[str, ...]) -> tuple[str, ...]:
    """Words of a command; the one after a bare `--password` is hidden too."""
    shown: list[str] = []
    for before, word in zip(("", *words), words, strict=False):
        after_name = before.startswith("-") and "=" not in before and hide(before, word) != word
        shown.append(HIDDEN if after_name else hide_in_command(word))
    return tuple(shown)


def _with_layers(contents: ImageContents, deep: Contents) -> ImageContents:
    return ImageContents(
        version=contents.version,
        digest=contents.digest,
        media_type=contents.media_type,
        platform=contents.platform,
        created=contents.created,
        layers=contents.layers,
        settings=contents.settings,
        deep=deep,
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
) -> Callable[[bytes], bytes]:
    read = 0

    def told(piece: bytes) -> bytes:
        nonlocal read
        read += len(piece)
        if tell is not None:
            tell(Progress(number + 1, count, read, layer.size))
        return piece

    return told
