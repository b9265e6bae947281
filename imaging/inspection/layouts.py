"""Reads images on disk in place: directories in OCI layout, and archives of `docker save`."""

from __future__ import annotations

import hashlib
import json
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final

from pydantic import BaseModel, ConfigDict, ValidationError

from imaging.inspection import limits
from imaging.inspection.faults import InspectError
from imaging.inspection.manifest import INDEXES, MANIFESTS, Descriptor, Document, Index, document, read_root
from imaging.inspection.sources import Budget, check_document, checked

_PIECE: Final = 1 << 18
_REF_NAME: Final = "org.opencontainers.image.ref.name"
_GZIP: Final = b"\x1f\x8b"


@dataclass(slots=True)
class _OnDisk:
    """A path, and the tag of one of its images."""

    path: Path
    tag: str = ""
    budget: Budget = field(init=False)

    def __post_init__(self) -> None:
        self.budget = Budget(self.name)

    @property
    def name(self) -> str:
        return f"{self.path}:{self.tag}" if self.tag else str(self.path)


@dataclass(slots=True)
class OciLayout(_OnDisk):
    """`DIR`, or `DIR:TAG` if it holds several images. Source: OCI image-spec 1.1, image-layout.md."""

    @classmethod
    def parse(cls, text: str) -> OciLayout:
        """A path; the part after the last colon is a tag, unless a directory has that name."""
        head, colon, tag = text.rpartition(":")
        return (
            cls(Path(head), tag) if colon and head and "/" not in tag and not Path(text).is_dir() else cls(Path(text))
        )

    def root(self) -> Document:
        if not (self.path / "oci-layout").is_file():
            raise InspectError(
                self.name, "is not an OCI layout: it has no file oci-layout", "give the directory itself"
            )
        top = document(self._gather(self.path / "index.json"), INDEXES[0])
        index = read_root(self.name, top)
        if not isinstance(index, Index):
            raise InspectError(self.name, "has an index.json that lists no images", "write the layout again")
        entries = [each for each in index.images if not self.tag or each.annotations.get(_REF_NAME) == self.tag]
        if not entries:
            tags = [each.annotations[_REF_NAME] for each in index.images if _REF_NAME in each.annotations]
            raise InspectError(self.name, f"has no image {self.tag}", f"there is: {', '.join(tags[:8]) or 'no tag'}")
        if len(entries) == 1:
            return self.document(entries[0], is_manifest=True)
        if any(each.platform is None for each in entries):
            raise InspectError(self.name, f"holds {len(entries)} images", "name one: DIR:TAG")
        return top

    def document(self, wanted: Descriptor, *, is_manifest: bool) -> Document:  # noqa: ARG002 - a Source
        content = self._gather(self._path(wanted))
        check_document(self.name, wanted, content)
        return document(content, wanted.media_type)

    @contextmanager
    def blob(self, wanted: Descriptor) -> Iterator[Iterator[bytes]]:
        with _opened(self.name, self._path(wanted)) as file:
            yield checked(self.name, "layer", wanted, _pieces(file))

    def _path(self, wanted: Descriptor) -> Path:
        algorithm, _, value = wanted.digest.partition(":")  # both checked: letters and digits, no path
        return self.path / "blobs" / algorithm / value

    def _gather(self, path: Path) -> bytes:
        with _opened(self.name, path) as file:
            return self.budget.gather(_pieces(file))


class _Saved(BaseModel):
    """An entry of the archive's manifest.json."""

    model_config = ConfigDict(frozen=True, strict=True, extra="ignore")

    Config: str
    RepoTags: list[str] | None = None
    Layers: list[str]


@dataclass(slots=True)
class DockerArchive(_OnDisk):
    """An archive of `docker save`, `FILE` or `FILE:NAME:TAG`. Its layers have diff ids instead of digests.

    The digest of its config, Docker's image id, identifies the image.
    """

    _members: dict[str, tarfile.TarInfo] = field(init=False, default_factory=dict)
    _layers: dict[str, str] = field(init=False, default_factory=dict)  # digest → member
    _config: Document | None = field(init=False, default=None)

    @classmethod
    def parse(cls, text: str) -> DockerArchive:
        """A path, and after a colon the name of one of its images."""
        if not Path(text).exists() and ":" in text:
            path, _, tag = text.partition(":")
            return cls(Path(path), tag)
        return cls(Path(text))

    def root(self) -> Document:
        """A manifest made from the archive's own list, as it has none like a registry's."""
        self._index()
        saved = self._choose(self._read_list())
        config = self._gather(saved.Config)
        self._config = document(config, "application/vnd.docker.container.image.v1+json")
        diff_ids = _diff_ids(config)
        if len(diff_ids) != len(saved.Layers) or len(diff_ids) > limits.LAYERS:
            raise InspectError(
                self.name, f"has {len(saved.Layers)} layers, and a config for {len(diff_ids)}", "save the image again"
            )
        layers = []
        for diff_id, member in zip(diff_ids, saved.Layers, strict=True):
            # Legacy archives have a symbolic link for a repeated layer.
            info = self._find(member)
            packed = self._is_packed(info)
            digest = self._digest(info) if packed else diff_id
            self._layers[digest] = info.name
            kind = "application/vnd.docker.image.rootfs.diff.tar" + (".gzip" if packed else "")
            layers.append({"mediaType": kind, "digest": digest, "size": info.size})
        manifest = {
            "schemaVersion": 2,
            "mediaType": MANIFESTS[1],
            "config": {"mediaType": self._config.media_type, "digest": self._config.digest, "size": len(config)},
            "layers": layers,
        }
        return Document(json.dumps(manifest).encode(), self._config.digest, MANIFESTS[1])

    def document(self, wanted: Descriptor, *, is_manifest: bool) -> Document:  # noqa: ARG002 - a Source
        if self._config is None:
            raise AssertionError("root() comes first")
        check_document(self.name, wanted, self._config.content)
        return self._config

    @contextmanager
    def blob(self, wanted: Descriptor) -> Iterator[Iterator[bytes]]:
        info = self._members[self._layers[wanted.digest]]
        with _opened(self.name, self.path) as file:
            file.seek(info.offset_data)
            yield checked(self.name, "layer", wanted, _pieces(file, info.size))

    def _index(self) -> None:
        with _opened(self.name, self.path) as file:
            if file.read(2) == _GZIP:
                raise InspectError(
                    self.name,
                    "is a packed archive, in which nothing can be found without unpacking it",
                    "gunzip it first",
                )
            file.seek(0)
            try:
                with tarfile.open(fileobj=file, mode="r:") as archive:
                    for info in archive:
                        if len(self._members) > 10 * limits.LAYERS:
                            raise InspectError(self.name, "has too many members for an image", "save the image again")
                        self._members[info.name.removeprefix("./")] = info
            except (tarfile.TarError, ValueError, RecursionError, MemoryError):
                raise InspectError(self.name, "is not a tar archive", "give what docker save wrote") from None

    def _read_list(self) -> list[_Saved]:
        if "manifest.json" not in self._members:
            raise InspectError(self.name, "has no manifest.json: docker save did not write it", "use docker save")
        try:
            entries = json.loads(self._gather("manifest.json"))
            return [_Saved.model_validate(entry) for entry in entries]
        except (ValueError, ValidationError, TypeError, RecursionError):
            raise InspectError(self.name, "has a manifest.json that cannot be read", "save the image again") from None

    def _choose(self, entries: list[_Saved]) -> _Saved:
        fitting = [each for each in entries if not self.tag or self.tag in (each.RepoTags or [])]
        if len(fitting) == 1:
            return fitting[0]
        tags = ", ".join([tag for each in entries for tag in each.RepoTags or []][:8]) or "none with a name"
        what = f"holds {len(entries)} images" if not self.tag else f"has no image {self.tag}"
        raise InspectError(self.name, f"{what}; there is {tags}", "name one: FILE:NAME:TAG")

    def _find(self, name: str) -> tarfile.TarInfo:
        info = self._members.get(name)
        if info is not None and info.issym():
            steps = [*name.split("/")[:-1], *info.linkname.split("/")]
            while ".." in steps and steps.index("..") > 0:
                at = steps.index("..")
                del steps[at - 1 : at + 1]
            info = self._members.get("/".join(steps))  # Docker writes no link to a link
        if info is None or not info.isreg() or info.issparse():
            raise InspectError(self.name, f"lacks {name[:80]}, which its manifest.json names", "save the image again")
        return info

    def _gather(self, member: str) -> bytes:
        info = self._find(member)
        with _opened(self.name, self.path) as file:
            file.seek(info.offset_data)
            return self.budget.gather(_pieces(file, info.size))

    def _is_packed(self, info: tarfile.TarInfo) -> bool:
        with _opened(self.name, self.path) as file:
            file.seek(info.offset_data)
            return file.read(4)[:2] == _GZIP

    def _digest(self, info: tarfile.TarInfo) -> str:
        """Digest of a packed layer: newer Dockers name the file by it. Reading the layer checks it."""
        value = info.name.rpartition("/")[2]
        if len(value) == 64 and set(value) <= set("0123456789abcdef"):
            return f"sha256:{value}"
        state = hashlib.sha256()
        with _opened(self.name, self.path) as file:
            file.seek(info.offset_data)
            for piece in _pieces(file, info.size):
                state.update(piece)
        return f"sha256:{state.hexdigest()}"


def _diff_ids(config: bytes) -> list[str]:
    try:
        found: Any = json.loads(config)["rootfs"]["diff_ids"]
        return [str(each) for each in found]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []


@contextmanager
def _opened(name: str, path: Path) -> Iterator[BinaryIO]:
    try:
        with path.open("rb") as file:
            yield file
    except OSError as error:
        part = "" if name.startswith(str(path)) else f"{path.name[:80]} "
        raise InspectError(name, f"{part}cannot be read: {error.strerror}", "check the path") from None


def _pieces(file: BinaryIO, size: int | None = None) -> Iterator[bytes]:
    left = size
    while piece := file.read(_PIECE if left is None else min(_PIECE, left)):
        if left is not None:
            left -= len(piece)
        yield piece
