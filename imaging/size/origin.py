"""Where a fact about an image comes from."""

from __future__ import annotations

from enum import StrEnum


class Origin(StrEnum):
    """The source. Only `image` was read in the image itself."""

    SPEC = "spec"
    LAST_BUILD = "last build"
    REGISTRY = "registry"
    IMAGE = "image"
