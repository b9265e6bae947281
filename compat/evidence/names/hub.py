"""Docker Hub has several names, and is meant where a reference names no registry."""

from __future__ import annotations

from typing import Final

HUB: Final = "docker.io"
HUB_NAMES: Final = frozenset({HUB, "index.docker.io", "registry-1.docker.io", "registry.hub.docker.com"})
OFFICIAL: Final = "library/"
"""Where its official images lie; people leave it out."""
