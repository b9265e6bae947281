"""Words and set-ups of public reports: what they name is read, and what their projects publish of it decides."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check
from compat.evidence.names.gpu_names import find_gpus
from compat.evidence.names.typed import read_release
from compat.evidence.names.words import instance_type

NOT, UNKNOWN = Verdict.INCOMPATIBLE, Verdict.UNKNOWN


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize("text", ["ASUS GTX 1070", "Gigabyte GeForce GTX 1070", "GTX 1070 (EVGA)"])
def test_who_made_the_board_may_stand_beside_its_chip(text: str) -> None:
    assert {model.name for model in find_gpus(text)} == {"GeForce GTX 1070"}


def test_an_image_for_another_jetson_line_is_refused_whichever_module_is_meant() -> None:
    fields = {"gpu": "Jetson NX", "host": "jetson", "image": "nvcr.io/nvidia/l4t-pytorch:r35.2.1-pth2.0-py3"}
    assert {str(model.compute_capability) for model in find_gpus("Jetson NX")} == {"7.2", "8.7"}
    assert verdict(**fields, driver="L4T r32.7.1") is NOT


@pytest.mark.parametrize(
    ("text", "release"), [("7605", "7.6.5"), ("8401", "8.4.1"), ("5110", "5.1.10"), ("8.9", "8.9")]
)
def test_a_release_as_cudnn_tells_it_by_one_number(text: str, release: str) -> None:
    assert str(read_release(text)) == release


@pytest.mark.parametrize(
    ("text", "known"),
    [("p3.8x", "p3.8xlarge"), ("G4dn.2x", "g4dn.2xlarge"), ("g5.xlarge", "g5.xlarge"), ("GKE", "gke")],
)
def test_an_instance_type_in_short_is_read_in_full(text: str, known: str) -> None:
    assert instance_type(text) == known


def test_flags_of_the_compiler_say_whether_a_list_of_targets_is_all() -> None:
    fields = {"gpu": "GTX 1080", "driver": "384.90", "cuda": "8.0", "framework": "my-solver", "sm_list": "sm_52"}
    assert verdict(**fields, ptx="unknown") is UNKNOWN
    assert verdict(**fields, build="-gencode arch=compute_52,code=sm_52") is NOT
    assert verdict(**fields, build="-gencode arch=compute_52,code=[sm_52,compute_52]") is not NOT


def test_a_build_without_an_architecture_has_no_code_for_its_gpus() -> None:
    fields = {
        "driver": "470.199.02",
        "cuda": "11.4",
        "framework": "my-miner",
        "build": "release without Pascal targets",
    }
    assert verdict(**fields, gpu="GTX 1060") is NOT
    assert verdict(**fields, gpu="RTX 2060").runs


@pytest.mark.parametrize(
    ("gpu", "driver", "runs"),
    [("RTX 5070", "575.64.03", False), ("A100", "535.183.01", True), ("GTX 980", "535.54.03", False)],
)  # https://github.com/PaddlePaddle/Paddle/issues/54713 and 73687 show the same with other lists
def test_wheels_of_paddle_hold_what_they_list_and_no_ptx(gpu: str, driver: str, *, runs: bool) -> None:
    listed = {"framework": "paddlepaddle-gpu", "cuda": "11.8", "sm_list": "sm_70 sm_75 sm_80"}
    assert verdict(gpu=gpu, driver=driver, **listed).runs is runs


def test_an_image_of_ngc_may_be_named_in_words() -> None:
    fields = {"gpu": "Tesla M60", "driver": "418.67", "host": "docker"}
    in_words = verdict(**fields, image="NGC TensorFlow 19.03-py3")
    assert in_words is verdict(**fields, image="nvcr.io/nvidia/tensorflow:19.03-py3") is NOT


def test_pytorch_of_a_checkout_is_built_with_the_cuda_that_is_named() -> None:
    fields = {"gpu": "GTX 1080", "driver": "390.87", "framework": "pytorch"}
    assert verdict(**fields, framework_version="1.0.0a0+8601b33", cuda="10.0") is NOT
    assert verdict(**fields, framework_version="1.0.0a0+8601b33", cuda="9.1").runs


@pytest.mark.parametrize(("gpu", "answer"), [("GTX 580", NOT), ("Tesla M2090", NOT)])
def test_no_cudnn_serves_a_gpu_before_kepler(gpu: str, answer: Verdict) -> None:
    fields = {"gpu": gpu, "driver": "375.66", "cuda": "8.0", "framework": "caffe"}
    assert verdict(**fields, cudnn="6.0.21") is answer
    assert verdict(**fields) is not answer


def test_pycuda_compiles_for_the_very_gpu() -> None:
    fields = {"gpu": "RTX 3060", "driver": "470.199.02", "framework": "pycuda"}
    assert verdict(**fields, cuda="11.0") is NOT  # sm_86 came with 11.1
    assert verdict(**fields, cuda="11.2").runs


@pytest.mark.parametrize("framework", ["candle", "mistral.rs"])
def test_what_compiles_to_ptx_needs_a_driver_of_that_toolkit(framework: str) -> None:
    fields = {"gpu": "RTX 4080", "cuda": "12.5", "framework": framework}
    assert verdict(**fields, driver="550.54.14") is NOT
    assert verdict(**fields, driver="555.42.06").runs


def test_tensorrt_calls_cudnn_and_needs_one_of_turings_time() -> None:
    fields = {"gpu": "RTX 2080", "driver": "440.33.01", "framework": "tensorrt", "framework_version": "6.0.1"}
    assert verdict(**fields, cuda="9.0") is NOT
    assert verdict(**fields, cuda="10.0").runs


@pytest.mark.parametrize(
    ("case", "runs"),
    [
        ({"framework": "ollama", "framework_version": "0.1.17", "gpu": "GTX 750 Ti"}, False),
        ({"framework": "ollama", "framework_version": "0.1.17", "gpu": "GTX 1080"}, True),
        ({"framework": "tensorflow", "framework_version": "2.22.0.dev20260401", "gpu": "RTX 5080"}, False),
        ({"framework": "tensorflow", "framework_version": "2.22.0.dev20260401", "gpu": "RTX 4080"}, True),
        ({"framework": "dorado", "cuda": "11.8", "gpu": "Tesla P100"}, False),
        ({"framework": "dorado", "cuda": "11.8", "gpu": "RTX 3080"}, True),
    ],
)
def test_the_oldest_and_newest_gpus_of_a_release_are_as_its_project_says(case: dict[str, str], *, runs: bool) -> None:
    assert verdict(driver="575.64.03", **case).runs is runs
