"""Layer records on disk: names and sizes of the files, and the findings. No content.

Gzip, one JSON value a line: `[kind, size, path]` of each file, and at the end the findings. Gzip's checksum reveals an
incomplete file.
"""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final

from pydantic import ValidationError

from imaging.inspection.facts import LAYER_FOUND, LayerFound
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
