"""From the facts of an image to its size: what was read counts, what was not is estimated and marked as such."""

from __future__ import annotations

from datetime import UTC, datetime

from imaging.inspection.facts import Contents, ImageContents, Layer, LayerUse, Settings
from imaging.size.estimate import Origin
from imaging.size.measured import UNPACKED_RATIO, size_of


def image(*unpacked: int, left_out: tuple[str, ...] = ()) -> ImageContents:
    """An image whose layers have 1000 packed bytes each, and so many unpacked ones; without any it was not read."""
    layers = tuple(Layer(f"sha256:{number}", "layer", "gzip", 1000) for number in range(2))
    uses = tuple(LayerUse(each, 0) for each in unpacked)
    deep = Contents(sum(unpacked), 1, uses, left_out=left_out) if unpacked else None
    return ImageContents(
        2, "sha256:x", "manifest", "linux/amd64", datetime(2026, 11, 21, tzinfo=UTC), layers, Settings(), deep
    )


def test_layers_that_were_read_count_as_they_are() -> None:
    size = size_of(image(5000, 0))
    assert (size.unpacked, size.origin) == (5000, Origin.IMAGE)


def test_a_layer_that_was_left_out_is_estimated_and_the_whole_is_an_estimate() -> None:
    size = size_of(image(0, 5000, left_out=("layer 1 was not read",)))
    assert [layer.unpacked for layer in size.layers] == [round(1000 * UNPACKED_RATIO), 5000]
    assert (size.unpacked, size.origin) == (6850, Origin.REGISTRY)


def test_without_layers_all_is_estimated() -> None:
    size = size_of(image())
    assert (size.unpacked, size.origin) == (3700, Origin.REGISTRY)
