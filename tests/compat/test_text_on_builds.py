"""Text on a build that decides without a list of targets: its compiler's default, PTX, an engine, a server."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check
from compat.evidence.names.typed import read_drivers

NOT, OPEN = Verdict.INCOMPATIBLE, Verdict.UNKNOWN


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("gpu", "cuda", "build", "runs"),
    [
        ("GTX 780", "11.4", "nvcc saxpy.cu -o saxpy", False),  # 5.2 is newer than 3.5
        ("GTX 750 Ti", "12.2", "nvcc without -arch", False),  # 5.2 is newer than 5.0
        ("GTX 1080", "13.0", "nvcc, default target", False),
        ("RTX 3060", "12.2", "nvcc -O3 saxpy.cu", True),  # by its PTX
        ("GTX 780", "10.1", "nvcc saxpy.cu", True),
        ("GTX 780", "11.4", "nvcc -arch=sm_35 saxpy.cu", True),
    ],
)
def test_nvcc_without_a_target_makes_code_for_its_own_default(gpu: str, cuda: str, build: str, *, runs: bool) -> None:
    driver = "470.199.02" if gpu == "GTX 780" else "580.95.05"
    assert verdict(gpu=gpu, driver=driver, cuda=cuda, framework="my-program", build=build).runs is runs


def test_a_program_that_emits_ptx_needs_the_driver_of_its_toolkit() -> None:
    fields = {"gpu": "RTX 4070", "cuda": "12.6", "framework": "my-solver"}
    assert verdict(**fields, driver="550.90.07", build="NVRTC to PTX") is NOT
    assert verdict(**fields, driver="550.90.07", build="nvcc").runs
    assert verdict(**fields, driver="560.35.03", build="NVRTC to PTX").runs


@pytest.mark.parametrize(
    ("text", "branch"),
    [("driver loads PTX up to 8.2", 535), ("supports PTX ISA 7.8", 520), ("current PTX version is 9.0", 580)],
)
def test_the_ptx_that_a_driver_loads_tells_its_branch(text: str, branch: int) -> None:
    assert {each.branch for each in read_drivers(text)} == {branch}


def test_jax_of_cuda_11_needed_a_driver_of_its_toolkit_at_first() -> None:
    fields = {"gpu": "RTX 3070", "framework": "jax", "cuda": "11.2", "sm_list": "8.0"}
    assert verdict(**fields, framework_version="0.2.9", driver="455.45.01") is NOT
    assert verdict(**fields, framework_version="0.2.9", driver="460.32.03").runs
    assert verdict(**fields, framework_version="0.4.1", driver="455.45.01").runs


def test_an_engine_is_for_the_architecture_that_it_was_built_on() -> None:
    fields = {"gpu": "Tesla T4", "driver": "535.104.05", "framework": "tensorrt", "framework_version": "8.6.1"}
    assert verdict(**fields, build="engine generated on an A10") is NOT
    assert verdict(**fields, build="engine built on an RTX 2080 Ti").runs
    assert verdict(**fields, build="engine built on an A10, hardware compatibility mode").runs


@pytest.mark.parametrize(
    "fields",
    [
        {"image": "nvcr.io/nvidia/tensorrtserver:19.03-py3", "framework": "triton", "framework_version": "19.03"},
        {"framework": "triton", "framework_version": "19.03"},
        {"image": "my-trtis-1903", "framework": "triton inference server", "framework_version": "19.03"},
    ],
)
def test_triton_of_a_month_is_the_server(fields: dict[str, str]) -> None:
    assert verdict(gpu="Tesla P40", driver="418.67", host="docker", **fields).runs
    assert verdict(gpu="Tesla P40", driver="418.67", framework="triton", framework_version="2.1.0") is NOT


def test_a_release_candidate_is_read_as_the_release_that_it_became() -> None:
    fields = {"gpu": "GTX 750", "driver": "450.80.02", "framework": "tensorflow"}
    assert verdict(**fields, framework_version="2.3.0rc2") is verdict(**fields, framework_version="2.3.0") is NOT
    assert verdict(**fields, framework_version="2.2.0rc3") is verdict(**fields, framework_version="2.2.0")


def test_a_version_or_newer_is_read_from_that_version_on() -> None:
    fields = {"gpu": "RTX 3060", "driver": "470.199.02", "framework": "ctranslate2", "cuda": "11.8"}
    assert verdict(**fields, framework_version="4.0 or newer") is NOT  # built for CUDA 12
    assert verdict(**fields, framework_version="3.24").runs


@pytest.mark.parametrize("build", ["CUDA_ARCH_BIN set to 8.6 / 8.9 values", "CUDA_ARCH_BIN=8.6"])
def test_opencv_for_newer_gpus_alone_has_no_code_for_older_ones(build: str) -> None:
    fields = {"framework": "opencv", "framework_version": "4.9.0", "cuda": "12.2", "driver": "535.104.05"}
    assert verdict(gpu="RTX 2070", build=build, **fields) is NOT
    assert verdict(gpu="RTX 3070", build=build, **fields).runs


def test_a_compat_package_of_cuda_10_serves_the_branches_that_nvidia_lists_alone() -> None:
    fields = {"gpu": "Tesla P100", "host": "docker", "image": "nvcr.io/nvidia/tensorflow:19.01-py3"}
    assert verdict(**fields, driver="384.145").runs
    assert verdict(**fields, driver="390.116") is NOT
