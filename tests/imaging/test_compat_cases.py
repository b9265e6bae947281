"""What of an image uses a GPU."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from rows import each_row

from compat import Case, Severity, Verdict, check
from imaging.spec.compat_cases import cases_of
from imaging.spec.load import load_family
from imaging.spec.model import ImageSpec

BASE: dict[str, Any] = {
    "name": "under-test", "title": "t", "description": "d", "version": "1", "released": "2026-11-21",
    "user": {"name": "jovyan", "uid": 1000, "gid": 100, "home": "/home/jovyan"}, "command": ["true"],
}  # fmt: skip
DEBIAN = {"reference": "docker.io/library/debian:bookworm-20260824-slim", "digest_note": "none", "layout": "debian"}


def spec(*packages: str, base: dict[str, str] = DEBIAN, **more: Any) -> ImageSpec:
    python = {"python": {"packages": list(packages)}} if packages else {}
    return ImageSpec.model_validate({**BASE, "base": base, **python, **more})


@pytest.mark.parametrize("image", ["hub", "proxy", "datahub-base-notebook"])
def test_an_image_without_anything_for_a_gpu_has_no_cases(image: str) -> None:
    assert cases_of(load_family(image)) == ()


def test_each_kernel_with_a_framework_is_a_case_with_the_cuda_of_its_environment() -> None:
    assert cases_of(load_family("scipy-ml-notebook")) == (
        Case(framework="tensorflow", framework_version="2.3.4", cuda="10.1", cudnn="7.6.5.32"),
        Case(framework="pytorch", framework_version="1.7.1+cu101", cuda="10.1"),
    )


def test_a_distribution_that_names_its_cuda_is_the_build() -> None:
    (case,) = cases_of(load_family("cupy-notebook"))
    assert (case.framework, case.build, case.cuda) == ("cupy", "cupy-cuda12x", "12.9")


@each_row(
    ("pin", "expected"),
    [
        ("torch==2.6.0", Case(framework="pytorch", framework_version="2.6.0")),
        ("torch==2.6.0+cpu", None),
        ("torchvision==0.21.0", None),
        ("jax==0.4.30", None),
        ("jaxlib==0.4.30", None),
        ("mxnet==1.9.1", None),
        ("tensorflow==1.14.0", None),
        ("jax[cuda12]==0.4.30", Case(framework="jax", framework_version="0.4.30", build="jax[cuda12]")),
        (
            "tensorflow[and-cuda]==2.16.1",
            Case(framework="tensorflow", framework_version="2.16.1", build="tensorflow[and-cuda]"),
        ),
        ("tensorflow-cpu==2.16.1", None),
        ("onnxruntime==1.20.0", None),
        ("onnxruntime-gpu==1.20.0", Case(framework="onnxruntime", framework_version="1.20.0")),
        ("vllm==0.6.3", Case(framework="vllm", framework_version="0.6.3")),
        ("numpy==2.4.6", None),
    ],
)
def test_a_distribution_counts_if_it_has_code_for_gpus(pin: str, expected: Case | None) -> None:
    assert cases_of((spec(pin),)) == ((expected,) if expected else ())


@each_row(
    ("pins", "expected"),
    [
        (["jax[cuda12]==0.4.30"], ("jax[cuda12]==0.4.30",)),
        (["jaxlib==0.4.30", "jax-cuda12-plugin==0.4.30"], ("jaxlib==0.4.30",)),
        (["jaxlib==0.4.30", "torch==2.6.0", "torchvision==0.21.0"], ("torch==2.6.0",)),
        (["onnxruntime-gpu==1.20.0", "onnxruntime==1.20.0"], ("onnxruntime-gpu==1.20.0",)),
        (["vllm==0.6.3", "tensorflow-cpu==2.16.1"], ("vllm==0.6.3",)),
    ],
)
def test_a_spec_names_its_builds_for_gpus_as_they_are_written(pins: list[str], expected: tuple[str, ...]) -> None:
    image = spec(*pins)
    assert image.frameworks == expected
    assert len(cases_of((image,))) == len(expected)


def test_conda_takes_its_build_for_the_cuda_that_it_installs_and_pip_does_not() -> None:
    toolkit = ["cudatoolkit=11.2.2", "cudnn=8.1.0", "nccl=2.8.3.1"]
    kernel = {"name": "k", "title": "K", "python": "3.9.1", "conda": ["ipykernel=6.29.5", "jaxlib=0.3.25"]}
    image = spec(kernels=[{**kernel, "cuda": {"line": "11.2", "source": "conda", "packages": toolkit}}])
    assert image.frameworks == ("jaxlib=0.3.25",)
    wheel = {**kernel, "conda": ["ipykernel=6.29.5"], "pypi": ["jaxlib==0.3.25"]}
    image = spec(kernels=[{**wheel, "cuda": {"line": "11.2", "source": "conda", "packages": toolkit}}])
    assert image.frameworks == ()


def test_an_environment_with_cuda_and_no_framework_is_a_case_of_its_cuda() -> None:
    cuda = {"line": "12.9", "source": "wheels", "packages": ["nvidia-cuda-runtime-cu12==12.9.79"]}
    assert cases_of((spec("numba==0.61.0", cuda=cuda),)) == (Case(cuda="12.9"),)


def test_a_base_of_somebody_else_with_cuda_stands_behind_every_build() -> None:
    reference = "docker.io/nvidia/cuda:12.4.1-base-ubuntu22.04"
    base = {"reference": reference, "digest_note": "none", "layout": "debian"}
    assert cases_of((spec("torch==2.6.0", base=base),)) == (
        Case(image=reference, framework="pytorch", framework_version="2.6.0"),
    )
    assert cases_of((spec("numpy==2.4.6", base=base),)) == (Case(image=reference),)


def test_a_base_with_a_framework_of_its_own_is_a_case_too() -> None:
    base = {"reference": "nvcr.io/nvidia/pytorch:24.05-py3", "digest_note": "none", "layout": "debian"}
    first, second = cases_of((spec("vllm==0.6.3", base=base),))
    assert (first.image, first.framework) == ("nvcr.io/nvidia/pytorch:24.05-py3", "")
    assert (second.image, second.framework) == ("nvcr.io/nvidia/pytorch:24.05-py3", "vllm")


@each_row(
    ("gpu", "driver", "verdict", "rule"),
    [
        ("Tesla T4", "570.86.15", Verdict.COMPATIBLE, ""),
        ("Tesla T4", "525.147.05", Verdict.COMPATIBLE, ""),
        ("Tesla T4", "520.61.05", Verdict.INCOMPATIBLE, "R-MINOR"),
        ("Tesla V100-SXM2-16GB", "570.86.15", Verdict.INCOMPATIBLE, "R-FRAMEWORK"),
        ("GeForce GTX 1080 Ti", "570.86.15", Verdict.INCOMPATIBLE, "R-FRAMEWORK"),
    ],
)
def test_the_perceptron_runs_where_nvidias_last_tensorflow_image_does(
    gpu: str, driver: str, verdict: Verdict, rule: str
) -> None:
    for case in cases_of(load_family("perceptron")):
        answer = check(replace(case, gpu=gpu, driver=driver, host="docker"))
        assert answer.verdict is verdict, answer.findings
        assert rule in {"", *(each.rule for each in answer.findings if each.severity is Severity.REFUSE)}


def test_only_variables_that_concern_gpus_are_in_a_case() -> None:
    (case,) = cases_of((spec("torch==2.6.0", env={"LANG": "C.UTF-8", "NVIDIA_DISABLE_REQUIRE": "1"}),))
    assert case.env == "NVIDIA_DISABLE_REQUIRE=1"
