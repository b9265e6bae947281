"""What is reported of an image's size before it is built, and of its sizes from one deployment to the next."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.machines import Rates
from imaging.size.estimate import MB, Origin, Size
from imaging.size.expected import Expected, expected
from imaging.size.forecast import Deployed, Speed, first_starts, forecast, sizes_of
from imaging.spec.load import load_family
from imaging.spec.wheels import WheelSize

ONE, TWO, THREE = (f"sha256:{digit * 64}" for digit in "123")
NOTHING_KNOWN: dict[str, Any] = {}


def wheels(*megabytes: float) -> Expected:
    """Of `hub`, with wheels of so many MB."""
    sizes = [WheelSize("", f"w{n}", "1", f"w{n}.whl", "00", round(each * MB)) for n, each in enumerate(megabytes)]
    return expected(load_family("hub"), {"hub": sizes})


def size(compressed: float, unpacked: float, origin: Origin = Origin.IMAGE) -> Size:
    return Size(round(compressed * MB), round(unpacked * MB), origin, compression="zstd")


def deployed(compressed: float, unpacked: float, spec: Expected | None = None) -> Deployed | None:
    """As a stack's outputs have it."""
    by_spec = spec.size if spec else None
    return Deployed.read(sizes_of(ONE, size(compressed, unpacked), by_spec, NOTHING_KNOWN))


# --- who says so


def test_the_spec_alone_gives_a_lower_bound_and_names_what_is_not_in_it() -> None:
    found = forecast(wheels(100, 10))
    assert found.says == (
        "at least 92.3 MB compressed, 0.22 GB unpacked (from the spec: 2 wheels;"
        " not counted: base docker.io/library/debian:bookworm-20260824-slim, OS packages)"
    )
    assert found.size == Size(92_300_000, 219_000_000, Origin.SPEC, compression="zstd")


def test_a_base_whose_facts_are_known_is_counted_and_not_named_as_missing() -> None:
    found = forecast(wheels(100, 10), base=size(28, 75))
    assert found.says == (
        "at least 0.12 GB compressed, 0.29 GB unpacked (from the spec: 2 wheels and a base of 28.0 MB;"
        " not counted: OS packages)"
    )


def test_the_last_build_gives_more_than_a_bound_with_what_the_spec_changes_since() -> None:
    found = forecast(wheels(110, 10), deployed=deployed(150, 400, wheels(100, 10)))
    assert found.says == (
        "about 0.16 GB compressed, 0.42 GB unpacked"
        " (as last deployed: 0.15 GB, +8.2 MB of wheels by the spec; everything else unchanged)"
    )
    assert found.size is not None
    assert found.size.origin is Origin.LAST_BUILD
    smaller = forecast(wheels(50), deployed=deployed(150, 400, wheels(100, 10)))
    assert "-51.3 MB of wheels by the spec" in smaller.says
    same = forecast(wheels(100, 10), deployed=deployed(150, 400, wheels(100, 10)))
    assert "about 0.15 GB compressed, 0.40 GB unpacked (as last deployed: 0.15 GB, with the same wheels;" in same.says


def test_an_image_whose_spec_counts_nothing_is_as_big_as_it_was() -> None:
    nothing = expected(load_family("proxy"), {})
    assert forecast(nothing, deployed=deployed(60, 190)).says == (
        "about 60.0 MB compressed, 0.19 GB unpacked (as last deployed: 60.0 MB; nothing is known of what changes: "
        "base docker.io/library/debian:bookworm-20260824-slim, OS packages, Node packages)"
    )
    first = forecast(nothing)
    assert first.size is None
    assert first.says.startswith("its size is not known before that (not counted: base docker.io/library/debian:")


def test_a_last_build_of_another_kind_of_spec_is_only_named() -> None:
    found = forecast(wheels(100, 10), deployed=deployed(150, 400))  # its outputs have no bound to compare with
    assert found.says.endswith("OS packages); last deployed 0.15 GB")
    assert found.degree == "at least "
    stale = forecast(expected(load_family("hub"), {}), deployed=deployed(150, 400, wheels(100)))
    assert stale.size is None
    assert "wheels of hub); last deployed 0.15 GB" in stale.says


def test_the_registry_knows_best_and_says_how_far_that_is_from_what_runs() -> None:
    found = forecast(wheels(110), registry=size(160, 410), deployed=deployed(150, 400, wheels(100)))
    assert found.says == (
        "0.16 GB compressed, 0.41 GB unpacked (the registry has this content already)"
        "; +10.0 MB relative to what was deployed last"
    )
    guessed = forecast(wheels(110), registry=size(160, 296, Origin.REGISTRY))
    assert guessed.says == "0.16 GB compressed, about 0.30 GB unpacked (the registry has this content already)"


@pytest.mark.slow
@given(*[st.floats(1, 5000) for _ in range(3)])
def test_no_forecast_is_below_the_bound_of_the_spec(before: float, now: float, last: float) -> None:
    found = forecast(wheels(now), deployed=deployed(last, 3 * last, wheels(before)))
    assert found.size is not None
    assert found.size.compressed >= wheels(now).size.compressed


# --- how soon it will have started


def test_pools_that_are_equally_fast_share_a_line_and_planning_figures_are_called_so() -> None:
    slow, fast = Rates(pull_mb_per_s=10), Rates(pull_mb_per_s=100, disk_mb_per_s=1000)
    speeds = [
        Speed("old", slow, are_planned=False),
        Speed("new", fast, are_planned=False),
        Speed("other", Rates(), are_planned=True),
        Speed("older", slow, are_planned=False),
    ]
    found = forecast(wheels(), registry=size(500, 1000))
    assert list(first_starts(found, speeds)) == [
        (
            "first start on a node of old, older: about 68 s"
            " (pull 0.50 GB at 10 MB/s 50 s, unpack 1.00 GB (zstd) at 400 MB/s 2 s, start 15 s)"
        ),
        (
            "first start on a node of new: about 22 s"
            " (pull 0.50 GB at 100 MB/s 5 s, unpack 1.00 GB (zstd) at 570 MB/s 2 s, start 15 s)"
        ),
        (
            "first start on a node of other: about 28 s"
            " (pull 0.50 GB at 50 MB/s 10 s, unpack 1.00 GB (zstd) at 400 MB/s 2 s, start 15 s;"
            " the rates are planning figures)"
        ),
    ]


def test_a_bound_makes_a_bound_and_an_unknown_size_no_line() -> None:
    (line,) = first_starts(forecast(wheels(100)), [Speed("old", Rates(), are_planned=True)])
    assert line.startswith("first start on a node of old: at least 17 s (pull 82.0 MB at 50 MB/s 2 s, ")
    unknown = forecast(expected(load_family("proxy"), {}))
    assert list(first_starts(unknown, [Speed("old", Rates(), are_planned=True)])) == []


# --- from one deployment to the next


def test_the_first_deployment_has_nothing_to_compare_with() -> None:
    assert sizes_of(ONE, size(331.24, 989), size(296.6, 787.7), NOTHING_KNOWN) == {
        "digest": ONE,
        "compressed_mb": 331.2,
        "unpacked_mb": 989.0,
        "by_spec": {"compressed_mb": 296.6, "unpacked_mb": 787.7},
    }


def test_sizes_name_the_digest_that_was_replaced_until_the_next_change() -> None:
    first = sizes_of(ONE, size(331.2, 989), None, NOTHING_KNOWN)
    second = sizes_of(TWO, size(343.5, 1012), None, first)
    assert second == {
        "digest": TWO,
        "compressed_mb": 343.5,
        "unpacked_mb": 1012.0,
        "before": {"digest": ONE, "compressed_mb": 331.2, "unpacked_mb": 989.0},
        "change_mb": 12.3,
    }
    assert sizes_of(TWO, size(343.5, 1012), None, second) == second
    third = sizes_of(THREE, size(300, 900), None, second)
    assert (third["before"]["digest"], third["change_mb"]) == (TWO, -43.5)


def test_outputs_of_a_version_without_digests_do_not_count_as_a_change() -> None:
    old = {"compressed_mb": 331.2, "unpacked_mb": 989.0}
    assert sizes_of(ONE, size(331.2, 989), None, old) == {"digest": ONE, **old}


def test_an_image_that_is_not_read_back_has_a_digest_and_a_last_one() -> None:
    second = sizes_of(TWO, None, None, sizes_of(ONE, None, None, NOTHING_KNOWN))
    assert second == {"digest": TWO, "before": {"digest": ONE}}
    assert Deployed.read(second) is None
    assert Deployed.read(None) is None
