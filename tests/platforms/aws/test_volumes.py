"""How large and how fast the volume of a node has to be."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rows import each_row

from imaging.size.estimate import room
from platforms.aws.volumes import GIB, Volume, root_volume_gib, volume_problems


@each_row(
    ("images_gib", "pods_gib", "expected"),
    [(0, 0, 30), (5, 0, 30), (5.6, 0, 40), (40, 0, 80), (40, 20, 100)],
)
def test_a_volume_holds_the_images_and_the_system_below_the_kubelets_limit(
    images_gib: float, pods_gib: int, expected: int
) -> None:
    assert root_volume_gib(int(images_gib * GIB), pods_gib) == expected


@given(st.integers(0, 2000 * GIB), st.integers(0, 500))
def test_images_have_room_on_the_volume_that_is_made_for_them(image_bytes: int, pods_gib: int) -> None:
    gib = root_volume_gib(image_bytes, pods_gib)
    assert gib % 10 == 0
    assert room(gib) >= image_bytes + pods_gib * GIB


def test_a_volume_that_is_too_small_is_refused_with_the_size_that_is_not() -> None:
    (found,) = volume_problems(Volume(50), 40 * GIB, parallel_pulls=False)
    assert found.reason == (
        "a root volume of 50 GiB is too small for 40.0 GiB of images, packed and unpacked, and the system"
    )
    assert found.fix == "give it 80 GiB, or leave the size out"
    assert not found.is_slow


def test_parallel_pulls_warn_of_a_slow_volume() -> None:
    (found,) = volume_problems(Volume(80, 125), 40 * GIB, parallel_pulls=True)
    assert found.is_slow
    assert "600 MiB/s" in found.fix
    assert not [*volume_problems(Volume(80, 600), 40 * GIB, parallel_pulls=True)]
    assert not [*volume_problems(Volume(80, 125), 40 * GIB, parallel_pulls=False)]


def test_a_volume_slower_than_any_is_refused() -> None:
    (found,) = volume_problems(Volume(80, 100), 40 * GIB, parallel_pulls=True)
    assert not found.is_slow
    assert found.reason == "a gp3 volume has at least 125 MiB/s, not 100"
