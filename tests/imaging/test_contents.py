"""What people read about an image is what is really in it at their site."""

from __future__ import annotations

from typing import Final

import pytest

from imaging.spec.contents import Contents, contents
from imaging.spec.load import load_family
from imaging.spec.plan import Substitute, plan_image

WHY: Final = "not reachable from here"
LAB: Final = (
    Substitute("quay.io/jupyter/datascience-notebook:2026-08-24", f"lab/debian@sha256:{'1' * 64}", WHY),
    Substitute("conda-forge", "nothing", WHY),
    Substitute("https://download.pytorch.org/whl/torch_stable.html", "nothing", WHY),
)


def of(image: str, *substitutes: Substitute) -> Contents:
    family = load_family(image)
    return contents(family, plan_image(family, substitutes=substitutes))


def test_frameworks_of_all_kernels_are_named_with_their_versions_and_cuda_lines() -> None:
    found = of("scipy-ml-notebook")
    assert found.title == "SciPy and machine learning notebook"
    assert found.frameworks == ("TensorFlow 2.3.4", "PyTorch 1.7.1")
    assert found.cuda_lines == ("10.1",)
    assert found.packages[:3] == ("NumPy 2.4.6", "SciPy 1.17.1", "Matplotlib 3.11.2")
    assert "JupyterLab 4.6.6" in found.packages, "of the image that it stands on"
    assert found.stands_on == "jupyter/datascience-notebook"
    assert (found.missing, found.missing_reason) == ((), "")


def test_cuda_lines_are_in_the_order_of_numbers() -> None:
    assert of("scipy-ml-notebook-cu126").cuda_lines == ("12.5", "12.6")


def test_parts_of_cuda_are_not_listed_as_packages() -> None:
    assert not [name for name in of("scipy-ml-notebook-cu126").packages if "nvidia" in name]


def test_what_a_lab_leaves_out_is_listed_as_missing_only() -> None:
    found = of("scipy-ml-notebook", *LAB)
    assert (found.frameworks, found.cuda_lines, found.stands_on) == ((), (), "")
    assert found.missing == (
        "TensorFlow 2.3.4",
        "PyTorch 1.7.1",
        "CUDA 10.1",
        "what jupyter/datascience-notebook brings",
    )
    assert found.missing_reason == WHY


def test_a_cuda_line_that_another_environment_has_is_not_missing() -> None:
    found = of("scipy-ml-notebook-cu126", *LAB)
    assert found.cuda_lines == ("12.6",)
    assert found.missing[:2] == ("TensorFlow 2.19.0", "CUDA 12.5")


def test_a_base_of_somebody_else_that_is_replaced_takes_its_framework_and_its_cuda_along() -> None:
    there = of("perceptron")
    assert (there.cuda_lines, there.stands_on, there.missing) == (("12.8",), "nvidia/tensorflow", ())
    base = Substitute("nvcr.io/nvidia/tensorflow:25.02-tf2-py3", f"lab/debian@sha256:{'1' * 64}", WHY)
    found = of("perceptron", base)
    assert (found.cuda_lines, found.stands_on) == ((), "")
    assert (found.missing, found.missing_reason) == (("CUDA 12.8", "what nvidia/tensorflow brings"), WHY)
    assert found.packages == there.packages


@pytest.mark.parametrize("image", ["cupy-notebook", "datahub-base-notebook"])
def test_a_substitute_that_does_not_concern_an_image_leaves_nothing_out(image: str) -> None:
    page_of_wheels = LAB[2]
    assert of(image, page_of_wheels) == of(image)
