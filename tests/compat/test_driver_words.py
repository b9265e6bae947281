"""The host's driver among the words of a build: the CUDA that it reports is no CUDA of the build."""

from __future__ import annotations

import pytest
from compat.evidence.prose.driver_words import cuda_of_driver, without_driver

from compat import Verdict, case_from, check


@pytest.mark.parametrize(
    ("build", "reported", "rest"),
    [
        ("own build with nvcc 11.6; nvidia-smi shows CUDA 12.0", "12.0", "own build with nvcc 11.6"),
        ("nvidia-smi: CUDA Version: 12.4", "12.4", ""),
        ("conda package (nvidia-smi reports CUDA version 11.4)", "11.4", "conda package"),
        ("wheel; driver API version 12.6", "12.6", "wheel"),
        ("from source, deviceQuery shows CUDA driver version 11.2", "11.2", "from source"),
        ("wheel for CUDA 12.1, the host supports up to CUDA 11.8", "11.8", "wheel for CUDA 12.1"),
        ("CUDA 11.7 installed on the host", "", "CUDA 11.7 installed on the host"),
        ("host has CUDA 11.7", "", "host has CUDA 11.7"),  # a toolkit, as often as not
        ("nvidia-smi 545.23.08", "", "nvidia-smi 545.23.08"),
        ("nvidia-smi shows CUDA 99.9", "", "nvidia-smi shows CUDA 99.9"),
        ("driver 12.2 or 11.4: nvidia-smi shows CUDA 12.2, driver API version 11.4", "", None),
    ],
)
def test_the_cuda_that_a_driver_reports_is_distinguished_from_that_of_the_build(
    build: str, reported: str, rest: str | None
) -> None:
    assert cuda_of_driver(build) == reported
    assert without_driver(build) == (build if rest is None else rest)


@pytest.mark.parametrize(("reported", "runs"), [("11.4", True), ("10.1", False)])
def test_it_is_the_driver_where_the_case_names_none(reported: str, *, runs: bool) -> None:
    case = {"gpu": "Tesla P100", "cuda": "11.2", "build": f"own build; the GPU node shows CUDA {reported}"}
    answer = check(case_from(case | {"framework": "caffe", "host": "bare"}))
    assert answer.verdict.runs is runs
    assert answer.verdict is not Verdict.UNKNOWN


@pytest.mark.parametrize(("nvcc", "runs"), [("12.4", False), ("12.8", True)])
def test_what_the_driver_reports_is_no_cuda_of_the_build(nvcc: str, *, runs: bool) -> None:
    build = f"own build with nvcc {nvcc}; nvidia-smi shows CUDA 12.9"
    assert check(case_from({"gpu": "RTX 5080", "framework": "caffe", "build": build})).verdict.runs is runs


def test_a_driver_that_is_stated_counts_before_it() -> None:
    case = {"gpu": "T4", "driver": "418.67", "cuda": "11.2", "build": "own build; nvidia-smi shows CUDA 11.4"}
    assert check(case_from(case)).verdict is Verdict.INCOMPATIBLE


def test_on_a_jetson_it_tells_the_jetpack() -> None:
    case = {
        "gpu": "Jetson Orin Nano 8GB",
        "os": "l4t",
        "cuda": "12.2",
        "build": "deviceQuery shows CUDA driver version 12.6",
    }
    assert check(case_from(case)).verdict.runs


@pytest.mark.parametrize(
    "build", ["nvidia-smi in the container", "smoke test; nvidia-smi works", "nothing but nvidia-smi"]
)
def test_nvidia_smi_alone_needs_no_code_for_the_gpu(build: str) -> None:
    asked = {"gpu": "RTX 5080", "driver": "575.57.08", "host": "docker", "image": "nvidia/cuda:11.8.0-base-ubuntu22.04"}
    assert check(case_from({**asked, "build": build})).verdict.runs
    assert not check(case_from({**asked, "build": "deviceQuery; nvidia-smi 575.57.08"})).verdict.runs
    for more in (
        "nvidia-smi works; deviceQuery fails",
        "not only nvidia-smi: our solver too",
        "torch code; nvidia-smi",
    ):
        assert not check(case_from({**asked, "build": more})).verdict.runs
    assert check(case_from({**asked, "driver": "450.51.05", "build": build})).verdict is Verdict.INCOMPATIBLE
