"""Caches facts on disk by digest: nothing is read twice. It writes only inside the store's folder.

A file appears complete or not at all; its name has the finders' version, so newer programs read again. The record of a
layer is gzip with one JSON value a line: `[kind, size, path]` of each file, without content, and the findings at the
end. Gzip's checksum reveals an incomplete one.
"""

import contextlib
import gzip
import json
import os
import tempfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

from pydantic import TypeAdapter, ValidationError

from imaging.inspection.facts import CONTENTS, LAYER_FOUND, PUBLISHED, VERSION, ImageContents, LayerFound, Published
from imaging.inspection.faults import InspectError
from imaging.inspection.layers import Entry

_FAST: Final = 1


@dataclass(frozen=True, slots=True)
class LayerRecord:
    """A completely read layer."""

    path: Path
    found: LayerFound

    def files(self) -> Iterator[Entry]:
        """Its members in order, without content."""
        with gzip.open(self.path, "rb") as lines:
            for line in lines:
                if line.startswith(b"["):
                    kind, size, path = json.loads(line)
                    yield Entry(path, kind, size, "", lambda: iter(()))


def open_record(path: Path) -> LayerRecord | None:
    """None if there is no complete record."""
    last = b""
    try:
        with gzip.open(path, "rb") as lines:
            for last in lines:  # noqa: B007 - only the last one matters
                pass
        return LayerRecord(path, LAYER_FOUND.validate_json(last))
    except (OSError, EOFError, zlib.error, ValidationError):
        return None


class NewRecord:
    """Written while a layer is read. `disk_errors` turns disk faults into errors for people."""

    def __init__(self, file: IO[bytes], disk_errors: Callable[[], AbstractContextManager[None]]) -> None:
        self._lines = gzip.GzipFile(fileobj=file, mode="wb", compresslevel=_FAST, mtime=0)
        self._disk_errors = disk_errors

    def add(self, entry: Entry) -> None:
        """The next member in order."""
        self._write(json.dumps([entry.kind, entry.size, entry.path]).encode())

    def finish(self, found: LayerFound) -> None:
        """Findings of all members."""
        self._write(LAYER_FOUND.dump_json(found))

    def close(self) -> None:
        with self._disk_errors():
            self._lines.close()

    def _write(self, line: bytes) -> None:
        with self._disk_errors():
            self._lines.write(line + b"\n")


def store_folder(environment: Mapping[str, str]) -> Path:
    """`${XDG_CACHE_HOME:-~/.cache}/gpu-commons/images`."""
    given = environment.get("XDG_CACHE_HOME", "")
    home = Path(given) if given.startswith("/") else Path(environment.get("HOME") or Path.home()) / ".cache"
    return home / "gpu-commons" / "images"


@dataclass(frozen=True, slots=True)
class Store:
    """One folder. An unreadable file counts as missing; one that cannot be written is an error."""

    folder: Path

    def contents(self, digest: str, *, deep: bool) -> ImageContents | None:
        """Facts of an image; with `deep` only if its layers were read."""
        names = ("deep",) if deep else ("deep", "plain")
        for name in names:
            found = self._load(self._path(digest, f"{name}.json"), CONTENTS)
            if isinstance(found, ImageContents) and found.digest == digest and found.version == VERSION:
                return found
        return None

    def published(self, digest: str) -> Published | None:
        """The platforms of an index."""
        found = self._load(self._path(digest, "index.json"), PUBLISHED)
        fits = isinstance(found, Published) and found.digest == digest and found.version == VERSION
        return found if fits else None

    def keep(self, facts: ImageContents | Published) -> None:
        """Write facts; raises InspectError, and leaves no partial file."""
        if isinstance(facts, Published):
            self._write(self._path(facts.digest, "index.json"), PUBLISHED.dump_json(facts))
        else:
            self._write(
                self._path(facts.digest, "deep.json" if facts.deep else "plain.json"), CONTENTS.dump_json(facts)
            )

    def layer(self, digest: str) -> LayerRecord | None:
        """Known facts of a layer, by its blob's digest."""
        return open_record(self._path(digest, "layer.gz"))

    @contextmanager
    def new_layer(self, digest: str) -> Iterator[NewRecord]:
        """Takes a layer file by file, and keeps it on success. Raises InspectError if it cannot be written."""
        with self._draft(self._path(digest, "layer.gz")) as file:
            record = NewRecord(file, self._disk_errors)
            yield record
            record.close()

    def _path(self, digest: str, name: str) -> Path:
        return self.folder / f"v{VERSION}" / f"{digest.replace(':', '-')}.{name}"

    @staticmethod
    def _load(path: Path, kind: TypeAdapter[Any]) -> Any:
        try:
            return kind.validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return None

    def _write(self, path: Path, content: bytes) -> None:
        with self._draft(path) as file, self._disk_errors():
            file.write(content)

    @contextmanager
    def _draft(self, path: Path) -> Iterator[IO[bytes]]:
        """A file beside `path` that replaces it on success, and is deleted otherwise."""
        with self._disk_errors():
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False)  # noqa: SIM115
        try:
            yield file
            with self._disk_errors():
                file.close()
                os.replace(file.name, path)  # noqa: PTH105 - the name is text here
        finally:
            with contextlib.suppress(OSError):
                file.close()
            Path(file.name).unlink(missing_ok=True)

    @contextmanager
    def _disk_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            what = f"cannot be written: {error.strerror}"
            raise InspectError(str(self.folder), what, "set XDG_CACHE_HOME, or add --no-cache") from None
