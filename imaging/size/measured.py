"""Size of an image from its facts. Pure."""

from typing import Final

from imaging.inspection.facts import ImageContents
from imaging.size.estimate import Layer, Origin, Size

UNPACKED_RATIO: Final = 1.85
"""Ratio of unpacked to packed bytes of CUDA libraries, for unread layers: 5.415 GB from 2.990 (torch 2.15),
6.315 from 3.382 (TensorFlow 2.21)."""


def size_of(contents: ImageContents) -> Size:
    """Bytes of an image by layer. For unread layers, unpacked bytes are estimated: origin `registry`."""
    deep = contents.deep
    unpacked = [round(layer.compressed_bytes * UNPACKED_RATIO) for layer in contents.layers]
    origin = Origin.REGISTRY
    if deep is not None and len(deep.layers) == len(contents.layers):
        # An omitted layer has no bytes, and nothing else distinguishes it from one without files.
        counted = [use.unpacked_bytes for use in deep.layers]
        unpacked = [size or guess for size, guess in zip(counted, unpacked, strict=True)] if deep.left_out else counted
        origin = Origin.REGISTRY if deep.left_out else Origin.IMAGE
    layers = tuple(
        Layer(layer.digest, layer.compressed_bytes, size) for layer, size in zip(contents.layers, unpacked, strict=True)
    )
    return Size(
        compressed=contents.compressed_bytes,
        unpacked=sum(unpacked),
        origin=origin,
        compression=_compression(contents),
        layers=layers,
    )


def _compression(contents: ImageContents) -> str:
    """Compression of most of its bytes: a gzip base under zstd layers counts by its share."""
    by_kind: dict[str, int] = {}
    for layer in contents.layers:
        by_kind[layer.compression] = by_kind.get(layer.compression, 0) + layer.compressed_bytes
    return max(by_kind, key=lambda kind: by_kind[kind], default="none")
