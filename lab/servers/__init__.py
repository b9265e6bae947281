"""One server a file: its command line, its ports, when it is healthy. No product logic."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol


class Tools(Protocol):
    """Where programs are, by name (`kube-apiserver`, `etcd`): `lab.toolchain` and tests have one each."""

    def path(self, name: str) -> Path:
        """The program of that name. Raises LabError when it is not installed."""
        ...
