"""The size of an image before it is built."""

from __future__ import annotations

from imaging.size.estimate import MB, Origin
from imaging.size.expected import expected, expected_of
from imaging.spec.load import IMAGES, load_family, load_sizes
from imaging.spec.plan import NOTHING, Substitute
from imaging.spec.wheels import WheelSize

JUPYTER = Substitute(
    "quay.io/jupyter/datascience-notebook:2026-08-24", f"lab/debian@sha256:{'1' * 64}", "not reachable"
)
CONDA_FORGE = Substitute("conda-forge", NOTHING, "not reachable")


def size(name: str, number: int, environment: str = "") -> WheelSize:
    return WheelSize(environment, name, "1", f"{name}-1-py3-none-any.whl", "00", number)


def test_big_wheels_unpack_to_less_than_small_ones_and_pack_better() -> None:
    family = load_family("hub")
    small = expected(family, {"hub": [size("a", 10 * MB)] * 1}).size
    big = expected(family, {"hub": [size("a", 1000 * MB)]}).size
    assert (small.compressed, small.unpacked) == (10_300_000, 39_000_000)
    assert (big.compressed, big.unpacked) == (820_000_000, 1_800_000_000)
    assert (big.origin, big.compression) == (Origin.SPEC, "zstd")


def test_a_measured_size_is_not_below_the_expected_bound() -> None:
    family = load_family("scipy-ml-notebook-cu126")
    jupyter = Substitute("quay.io/jupyter/datascience-notebook:2026-08-24", f"lab@sha256:{'1' * 64}", "not reachable")
    found = expected(
        family, {spec.name: load_sizes(IMAGES / spec.name, spec) for spec in family}, [jupyter, CONDA_FORGE]
    )
    assert 0.9 < found.size.compressed / (2722.9 * MB) < 1  # as it was pushed from this spec, its Debian base included
    assert 0.9 < found.size.unpacked / (6224.3 * MB) < 1


def test_what_the_parent_has_is_counted_once_and_a_kernel_has_its_own() -> None:
    parent, child = [size("a", 100), size("b", 100)], [size("a", 100), size("c", 10), size("a", 7, "tensorflow-2.3")]
    found = expected(load_family("scipy-ml-notebook"), {"datahub-base-notebook": parent, "scipy-ml-notebook": child})
    assert [(each.image, each.wheels, each.wheel_bytes) for each in found.counted] == [
        ("scipy-ml-notebook", 2, 17),
        ("datahub-base-notebook", 2, 200),
    ]


def test_what_is_not_counted_has_a_name() -> None:
    found = expected(load_family("scipy-ml-notebook"), {"scipy-ml-notebook": []})
    texts = [str(part) for part in found.not_counted]
    assert texts[0] == "base quay.io/jupyter/datascience-notebook:2026-08-24"
    assert "OS packages ca-certificates, git, tini, and what they need" in texts
    assert any(each.startswith("wheels of datahub-base-notebook: gpu-commons image sizes") for each in texts)
    assert any(each.startswith("kernel tensorflow-2.3: python=3.8.20, cudatoolkit=10.1.243") for each in texts)
    assert any(each.startswith("torch==1.7.1+cu101, ") for each in texts)
    assert found.remarks
    assert found.counted == ()


def test_node_packages_are_named_and_not_counted() -> None:
    found = expected(load_family("proxy"), {})
    texts = [str(part) for part in found.not_counted]
    assert "Node packages of package-lock.json" in texts
    assert not [part for part in texts if part.startswith("wheels")]
    assert found.size.compressed == 0


def test_what_a_site_leaves_out_is_not_counted() -> None:
    family = load_family("scipy-ml-notebook")
    sizes = {"scipy-ml-notebook": [size("a", 100), size("tensorflow", 500 * MB, "tensorflow-2.3")]}

    def wheels(*substitutes: Substitute) -> list[int]:
        return [each.wheels for each in expected(family, sizes, substitutes).counted]

    assert wheels() == [2]
    assert wheels(JUPYTER, CONDA_FORGE) == [1]  # no kernels; the server's packages come from the lock
    assert wheels(CONDA_FORGE) == []  # conda's server packages are left out too


def test_an_image_is_expected_by_its_name_and_not_at_all_where_nothing_can_be_counted() -> None:
    found = expected_of("cupy-notebook")
    assert found is not None
    assert (found.origin, found.layers) == (Origin.SPEC, ())
    assert 280 * MB < found.compressed < 330 * MB  # 108 wheels of 320.9 MB
    assert expected_of("cupy-notebook", IMAGES) == found
    assert expected_of("proxy") is None
