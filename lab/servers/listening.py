"""Checks whether a lab server accepts connections on a socket file or a port of this machine."""

from __future__ import annotations

import socket
from pathlib import Path


def on_socket(path: Path) -> bool:
    """Raises OSError if it does not."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.settimeout(2)
        probe.connect(str(path))
    return True


def on_port(port: int) -> bool:
    """Raises OSError if it does not."""
    with socket.create_connection(("127.0.0.1", port), timeout=2):
        return True
