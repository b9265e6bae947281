"""Fixtures that everybody uses."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("gpu-commons", deadline=None)  # a busy machine is slow and not wrong
settings.load_profile("gpu-commons")

GOLDEN = Path(__file__).parent / "golden"
WRITES = os.environ.get("GPU_COMMONS_GOLDEN") == "write"


@dataclass(frozen=True)
class GoldenFile:
    """A whole text that was read and approved once."""

    path: Path

    def equals(self, text: str) -> None:
        """Compare with the file, or write it under `make golden`, for somebody to read as a diff."""
        if WRITES:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(text)
            return
        approved = self.path.read_text() if self.path.is_file() else ""
        name = self.path.relative_to(GOLDEN)
        assert text == approved, f"{name} differs: `make golden` rewrites it, for you to read as a diff"


@pytest.fixture
def golden() -> Callable[[str], GoldenFile]:
    """`golden("renderer/case.ext").equals(text)` compares a whole rendered text with its approved form."""
    return lambda name: GoldenFile(GOLDEN / name)
