"""Reads an image's facts: from manifest and config only, or from all layers as a stream."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, Final

from errors.redaction.texts import words_without_secrets
from imaging.inspection import facts
from imaging.inspection.effective_content import contents_of, merged
from imaging.inspection.facts import Contents, ImageContents, LayerFound, Published, Settings
from imaging.inspection.faults import InspectError
from imaging.inspection.finders.build_info import StatementFinder
from imaging.inspection.finders.device_code import DeviceCodeFinder
from imaging.inspection.finders.finder import Finder, Sink
from imaging.inspection.finders.libraries import LibraryFinder
from imaging.inspection.finders.packages import PackageFinder
from imaging.inspection.finders.private_keys import PrivateKeyFinder
from imaging.inspection.finders.system import SystemFinder
from imaging.inspection.layers import Entry, entries
from imaging.inspection.manifest import (
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
from imaging.inspection.secrets import HIDDEN, hide, hide_in_command
from imaging.inspection.sources import Source, short
from imaging.inspection.store import Store
from imaging.inspection.tree import Tree
from imaging.inspection.unpacking import UnpackedTotal, named_compression

DEFAULT_PLATFORM: Final = Platform(os="linux", architecture="amd64")
_STEP_SHOWN: Final = 200


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of reading: layer `number` of `count`, and compressed bytes so far."""

    number: int
    count: int
    read_bytes: int
    layer_bytes: int


@dataclass(frozen=True, slots=True)
class Inspected:
    """An image under its requested name. `published` has all platforms of an index."""

    name: str
    contents: ImageContents
    published: Published | None
    is_cached: bool


def inspect(  # noqa: PLR0913 - all are independent choices
    source: Source,
    *,
    wanted: Platform = DEFAULT_PLATFORM,
    deep: bool = False,
    pinned: str = "",
    store: Store | None = None,
    tell: Callable[[Progress], None] | None = None,
) -> Inspected:
    """Facts of one image. `pinned` is its reference's digest, if any: then the store alone may answer.

    Raises InspectError. Nothing is kept of an image that could not be read completely.
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
    """All layers, one after the other, in bounded memory; only their facts are stored.

    Layers already read, of this image or another, come from the store. Raises InspectError.
    """
    tree, total, found = Tree(source.name), UnpackedTotal(source.name), LayerFound(0)
    left_out = []
    for number, layer in enumerate(manifest.layers):
        tree.begin_layer()
        if layer.is_foreign or "encrypted" in layer.media_type:
            why = "encrypted" if "encrypted" in layer.media_type else "foreign: its publisher hands it out elsewhere"
            left_out.append(f"layer {short(layer.digest)} was not read, it is {why}")
            continue
        report = _reporter(tell, number, len(manifest.layers), layer)
        one = _known_layer(store, layer, tree, total) if store else None
        if one is None:
            one = _read_layer(source, layer, tree, total, store, report)
        else:
            report(layer.size)
        found = merged(found, one, number)
    return contents_of(found, tree, total.unpacked, tuple(left_out))


def _known_layer(store: Store, layer: Descriptor, tree: Tree, total: UnpackedTotal) -> LayerFound | None:
    known = store.layer(layer.digest)
    if known is None:
        return None
    total.grow(known.found.unpacked_bytes)
    for listed in known.files():
        tree.add(listed)
    return known.found


def _read_layer(  # noqa: PLR0913, PLR0917 - the inputs of one layer
    source: Source,
    layer: Descriptor,
    tree: Tree,
    total: UnpackedTotal,
    store: Store | None,
    report: Callable[[int], None],
) -> LayerFound:
    finders, before = Finders(), total.unpacked

    def counted(piece: bytes) -> bytes:
        report(len(piece))
        return piece

    with (
        source.blob(layer) as pieces,
        store.new_layer(layer.digest) if store else nullcontext(None) as record,
    ):
        for entry in entries(source.name, layer, map(counted, pieces), total):
            if record:
                record.add(entry)
            read_entry(entry, tree, finders)
        for _ in pieces:  # bytes after the compressed stream; the digest is checked at the very end
            pass
        found = finders.found(total.unpacked - before)
        if record:
            record.finish(found)
    return found


def read_entry(entry: Entry, tree: Tree, finders: Finders) -> None:
    """Add a member of a layer to the tree, and pass its content to finders that want it."""
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
        self.keys = PrivateKeyFinder()
        self._all: tuple[Finder, ...] = (
            self.code, self.libraries, self.packages, self.statements, self.system, self.keys,
        )  # fmt: skip

    def sinks(self, entry: Entry) -> list[Sink]:
        return [sink for finder in self._all if (sink := finder.open(entry)) is not None]

    def found(self, unpacked: int) -> LayerFound:
        """Their findings, after all files."""
        return LayerFound(
            unpacked_bytes=unpacked,
            distribution=(*self.packages.glibc, *self.system.found),
            packages=tuple(self.packages.found),
            libraries=tuple(self.libraries.found),
            statements=(*self.statements.found, *self.packages.stated),
            code=tuple(self.code.found),
            driver=tuple(self.libraries.driver),
            compat=tuple(self.libraries.compat),
            private_keys=tuple(self.keys.found),
        )


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
        entry_point=words_without_secrets(process.entrypoint, HIDDEN),
        command=words_without_secrets(process.cmd, HIDDEN),
        folder=process.working_dir or "",
    )


def settings_of(env: Sequence[tuple[str, str]], labels: Mapping[str, str], **others: Any) -> Settings:
    """Settings without secrets. `others` are fields without any."""
    return Settings(
        env=tuple((key, hide(key, value)) for key, value in env),
        labels=tuple((key, hide(key, value)) for key, value in sorted(labels.items())),
        secrets=tuple(key for key, value in (*env, *labels.items()) if hide(key, value) != value),
        **others,
    )


def from_store(name: str, store: Store, pinned: str, wanted: Platform, *, deep: bool) -> Inspected | None:
    """Stored facts of an image or an index, for one platform. Raises InspectError if it has another one."""
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


def _reporter(
    tell: Callable[[Progress], None] | None, number: int, count: int, layer: Descriptor
) -> Callable[[int], None]:
    read = 0

    def report(more: int) -> None:
        nonlocal read
        read += more
        if tell is not None:
            tell(Progress(number + 1, count, read, layer.size))

    return report
