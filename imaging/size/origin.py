"""Where a fact about an image comes from."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """Who says so. Only `image` was seen in the image itself."""

    SPEC = "spec"
    LAST_BUILD = "last build"
    REGISTRY = "registry"
    IMAGE = "image"
