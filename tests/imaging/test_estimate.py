"""Bytes → seconds and disk."""

from hypothesis import given
from hypothesis import strategies as st

from fleet.machines import Rates
from imaging.size.estimate import GIB, Layer, Origin, Size, cold_start, disk_use, room

BASE = Layer("sha256:base", 30_000_000, 75_000_000)
CUDA = Layer("sha256:cuda", 2_980_000_000, 5_430_000_000)
COURSE = Layer("sha256:course", 10_000_000, 40_000_000)


def image(*layers: Layer) -> Size:
    return Size(
        sum(layer.compressed for layer in layers), sum(layer.unpacked for layer in layers), Origin.IMAGE, layers=layers
    )


def test_a_gzip_stack_of_5_gb_takes_two_minutes_and_says_where_they_go() -> None:
    found = cold_start(image(CUDA), Rates())
    assert (round(found.pull_s), round(found.unpack_s), found.start_s) == (60, 54, 15)
    assert found.reason == ("pull 2.98 GB at 50 MB/s 60 s, unpack 5.43 GB (gzip) at 100 MB/s 54 s, start 15 s")


def test_zstd_unpacks_as_fast_as_the_disk_writes() -> None:
    size = Size(2_706_000_000, 5_430_000_000, Origin.IMAGE, compression="zstd")
    assert round(cold_start(size, Rates(disk_mb_per_s=200)).unpack_s) == 27
    assert round(cold_start(size, Rates(disk_mb_per_s=5000)).unpack_s) == 10


def test_a_layer_of_two_images_takes_disk_space_once() -> None:
    use = disk_use([image(BASE, CUDA), image(BASE, CUDA, COURSE)])
    assert use.unpacked == 5_545_000_000
    assert use.compressed == 3_020_000_000
    assert use.shared == 75_000_000 + 30_000_000 + 5_430_000_000 + 2_980_000_000


def test_an_image_whose_layers_are_not_known_counts_whole() -> None:
    estimate = Size(1_000, 3_000, Origin.SPEC)
    assert disk_use([estimate, estimate]).total == 8_000


def test_fifteen_percent_of_a_disk_is_not_for_images() -> None:
    assert room(100) == 85 * GIB


layers = st.builds(
    Layer,
    st.sampled_from([f"sha256:{number}" for number in range(6)]),
    st.just(1_000),
    st.just(3_000),
)


@given(st.lists(st.lists(layers, max_size=5, unique_by=lambda layer: layer.digest), max_size=5))
def test_one_more_image_never_takes_less_disk(images: list[list[Layer]]) -> None:
    sizes = [image(*parts) for parts in images]
    totals = [disk_use(sizes[:count]).total for count in range(len(sizes) + 1)]
    assert totals == sorted(totals)
    assert disk_use(sizes).total == disk_use(list(reversed(sizes))).total


@given(st.integers(0, 10**11), st.integers(0, 10**11), st.floats(1, 1e4), st.floats(1, 1e4))
def test_a_faster_node_never_starts_later(compressed: int, unpacked: int, pull: float, disk: float) -> None:
    size = Size(compressed, unpacked, Origin.REGISTRY)
    assert cold_start(size, Rates(pull * 2, disk * 2)).total_s <= cold_start(size, Rates(pull, disk)).total_s
