"""A toolchain for tests that only look at how a program would be started."""

from __future__ import annotations

from pathlib import Path


class Programs:
    """A toolchain in which every program is installed."""

    def path(self, name: str) -> Path:
        return Path("/opt") / name
