"""Facts of images for the tests of rules: only what a test says differs from an image with nothing in it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from imaging.inspection.facts import VERSION, Contents, ImageContents, Layer, LayerUse, Settings
from imaging.size.estimate import GB

REGISTRY = "registry.example.edu/gpu-commons"


def reference(name: str, letter: str = "a", *, registry: str = REGISTRY) -> str:
    """`registry/name@digest`; the letter makes the digest."""
    return f"{registry}/{name}@sha256:{letter * 64}"


def contents(compressed_gb: float = 1, unpacked_gb: float | None = None, **deep: Any) -> ImageContents:
    """An image of one layer in gzip. Its layers were read, unless `unpacked_gb` is None; `deep` says what was found."""
    layer = Layer(
        "sha256:" + "1" * 64, "application/vnd.oci.image.layer.v1.tar+gzip", "gzip", round(compressed_gb * GB)
    )
    plain = ImageContents(VERSION, "sha256:" + "a" * 64, "", "linux/amd64", None, (layer,), Settings())
    if unpacked_gb is None:
        return plain
    unpacked = round(unpacked_gb * GB)
    return replace(plain, deep=replace(Contents(unpacked, 1, (LayerUse(unpacked, 0),)), **deep))
