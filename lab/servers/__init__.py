"""One server per file: its command line, its ports, its health check. No product logic."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Tools(Protocol):
    """Paths of programs by name (`kube-apiserver`, `etcd`): `lab.toolchain` and tests have one each."""

    def path(self, name: str) -> Path:
        """The program of that name. Raises LabError if it is not installed."""
        ...
