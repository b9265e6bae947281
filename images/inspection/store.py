"""Facts by digest, on disk: what was read once is never read again. Nothing is written outside the store's folder.

A file appears whole or not at all, and its name has the version of the finders, so a newer program reads anew.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from images.inspection.facts import CONTENTS, PUBLISHED, VERSION, ImageContents, Published
from images.inspection.faults import InspectError


def store_folder(environment: Mapping[str, str]) -> Path:
    """`${XDG_CACHE_HOME:-~/.cache}/gpu-commons/images`."""
    given = environment.get("XDG_CACHE_HOME", "")
    home = Path(given) if given.startswith("/") else Path(environment.get("HOME") or Path.home()) / ".cache"
    return home / "gpu-commons" / "images"


@dataclass(frozen=True, slots=True)
class Store:
    """One folder. A file that cannot be read is as good as none; one that cannot be written is an error."""

    folder: Path

    def contents(self, digest: str, *, deep: bool) -> ImageContents | None:
        """Facts of an image; with `deep` only those of one whose layers were read."""
        names = ("deep",) if deep else ("deep", "plain")
        for name in names:
            found = self._load(self._path(digest, name), CONTENTS)
            if isinstance(found, ImageContents) and found.digest == digest and found.version == VERSION:
                return found
        return None

    def published(self, digest: str) -> Published | None:
        """The platforms of an index."""
        found = self._load(self._path(digest, "index"), PUBLISHED)
        fits = isinstance(found, Published) and found.digest == digest and found.version == VERSION
        return found if fits else None

    def keep(self, facts: ImageContents | Published) -> None:
        """Write facts; raises InspectError, and leaves no part of a file."""
        if isinstance(facts, Published):
            self._write(self._path(facts.digest, "index"), PUBLISHED.dump_json(facts))
        else:
            self._write(self._path(facts.digest, "deep" if facts.deep else "plain"), CONTENTS.dump_json(facts))

    def _path(self, digest: str, name: str) -> Path:
        return self.folder / f"v{VERSION}" / f"{digest.replace(':', '-')}.{name}.json"

    @staticmethod
    def _load(path: Path, kind: TypeAdapter[Any]) -> Any:
        try:
            return kind.validate_json(path.read_bytes())
        except (OSError, ValidationError):
            return None

    def _write(self, path: Path, content: bytes) -> None:
        unfinished = None
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".", suffix=".part", delete=False) as file:
                unfinished = file.name
                file.write(content)
            os.replace(unfinished, path)  # noqa: PTH105 - the name is text here
            unfinished = None
        except OSError as error:
            raise InspectError(
                str(self.folder), f"cannot be written: {error.strerror}", "set XDG_CACHE_HOME, or add --no-cache"
            ) from None
        finally:
            if unfinished:
                Path(unfinished).unlink(missing_ok=True)
