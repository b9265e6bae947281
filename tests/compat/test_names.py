"""GPU names as people write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.compat.names import UnknownGpu, find_gpu, find_gpus
from components.compat.tables import GpuModel, gpu_models


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("NVIDIA 1080 Ti", "GeForce GTX 1080 Ti"),
        ("NVIDIA 2080 Ti", "GeForce RTX 2080 Ti"),
        ("NVIDIA 1070 Ti", "GeForce GTX 1070 Ti"),
        ("GeForce GTX 1080 Ti", "GeForce GTX 1080 Ti"),
        ("gtx1080ti", "GeForce GTX 1080 Ti"),
        ("  2080ti ", "GeForce RTX 2080 Ti"),
        ("GeForce-GTX-1080-Ti", "GeForce GTX 1080 Ti"),
        ("NVIDIA-GeForce-GTX-1080-Ti", "GeForce GTX 1080 Ti"),
        ("NVIDIA-GeForce-GTX-1080-Ti-SHARED", "GeForce GTX 1080 Ti"),
        ("A100-SXM4-40GB", "NVIDIA A100-SXM4-40GB"),
        ("Tesla T4", "Tesla T4"),
        ("T4", "Tesla T4"),
        ("L4", "NVIDIA L4"),
    ],
)
def test_a_name_as_people_write_it_resolves(text: str, name: str) -> None:
    assert find_gpu(text).name == name


def test_the_three_models_of_the_dsmlp_fleet_have_their_capability_family_and_memory() -> None:
    models = [find_gpu(text) for text in ("1080 Ti", "2080 Ti", "1070 Ti")]
    assert [(str(m.compute_capability), m.family, m.memory_mib) for m in models] == [
        ("6.1", "pascal", 11264),
        ("7.5", "turing", 11264),
        ("6.1", "pascal", 8192),
    ]


@given(model=st.sampled_from(gpu_models()), shape=st.sampled_from([str.lower, str.upper, str.strip]))
def test_every_model_is_found_by_its_own_name_and_label_in_any_case(
    model: GpuModel, shape: Callable[[str], str]
) -> None:
    assert find_gpu(shape(model.name)) is model
    if model.gfd_product:  # Jetson modules have none; one label may be that of several chips
        assert model in find_gpus(shape(model.gfd_product))


def test_no_two_models_share_a_name() -> None:
    assert len({find_gpu(model.name).name for model in gpu_models()}) == len(gpu_models()) == 479


@pytest.mark.parametrize(
    ("text", "reason", "suggestion"),
    [
        ("GTX 1085 Ti", "is not a GPU model", "GeForce GTX 1080 Ti"),
        ("RTX 1080 Ti", "is not a GPU model", "GeForce GTX 1080 Ti"),
    ],
)
def test_a_name_that_fits_none_or_several_is_refused_with_the_nearest(text: str, reason: str, suggestion: str) -> None:
    with pytest.raises(UnknownGpu, match=reason) as caught:
        find_gpu(text)
    assert suggestion in caught.value.suggestions


@pytest.mark.parametrize("text", ["", "banana", "NVIDIA", "Radeon Pro V520", "x" * 5000])
def test_a_name_like_no_other_is_refused_without_a_wild_guess(text: str) -> None:
    with pytest.raises(UnknownGpu) as caught:
        find_gpu(text)
    assert caught.value.suggestions == ()
