"""TensorRT refuses GPUs that its release does not know, and NVIDIA's images of a month are made for some GPUs."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("version", "gpu", "cuda", "runs"),
    [
        ("7.0.0.11", "RTX A6000", "10.2", False),  # https://github.com/NVIDIA/TensorRT/issues/2332
        ("7.0.0.11", "RTX 2080 Ti", "10.2", True),
        ("7.1.3.4", "RTX 3080", "11.0", False),  # https://github.com/NVIDIA/TensorRT/issues/800
        ("7.1.3.4", "A100", "11.0", True),
        ("7.2.1.6", "RTX 3080", "11.1", True),  # https://github.com/NVIDIA/TensorRT/issues/982
        ("8.2.1.8", "RTX 4090", "11.4", False),  # https://github.com/wang-xinyu/tensorrtx/issues/1610
        ("8.4.3", "H100", "11.6", False),
        ("8.5.2.2", "RTX 4090", "11.8", True),
        ("8.5.3.1", "Tesla M60", "11.8", True),
        ("8.6.0", "Tesla M60", "11.8", False),  # https://github.com/microsoft/onnxruntime/pull/15697
        ("8.6.1.6", "GTX 1080 Ti", "11.8", True),
        ("10.0.1", "GTX 1080 Ti", "12.4", False),  # https://github.com/NVIDIA/TensorRT/issues/3826
        ("10.4.0", "V100", "12.6", True),
        ("10.6.0", "RTX 5090", "12.6", False),
        ("10.8.0.43", "RTX 5090", "12.8", True),
    ],
)
def test_a_release_of_tensorrt_runs_on_the_gpus_that_it_knows(version: str, gpu: str, cuda: str, runs: bool) -> None:
    fields = {"gpu": gpu, "driver": "575.57.08", "cuda": cuda, "framework": "TensorRT", "framework_version": version}
    assert verdict(**fields).runs is runs


@pytest.mark.parametrize(
    ("image", "gpu", "runs"),
    [
        ("nvcr.io/nvidia/tensorrtserver:18.12-py3", "Tesla P4", True),
        ("nvcr.io/nvidia/tensorrtserver:18.12-py3", "Tesla M40", False),
        ("nvcr.io/nvidia/caffe:18.07-py2", "Tesla K80", False),  # https://github.com/NVIDIA/caffe/issues/525
        ("nvcr.io/nvidia/pytorch:19.05-py3", "A100", False),
        ("nvcr.io/nvidia/tensorflow:20.03-tf1-py3", "RTX 3080", False),
        ("nvcr.io/nvidia/tensorflow:20.03-tf1-py3", "RTX 2080", True),
        ("nvcr.io/nvidia/pytorch:20.07-py3", "A100", True),
        ("nvcr.io/nvidia/tritonserver:24.09-py3", "Tesla M60", False),
        (
            "nvcr.io/nvidia/tensorrt:22.04-py3",
            "RTX 4080",
            False,
        ),  # https://github.com/HuangJunJie2017/BEVDet/issues/314
        ("nvcr.io/nvidia/tensorrt:22.12-py3", "RTX 4080", True),
        ("nvcr.io/nvidia/tensorrt:24.08-py3", "Tesla P40", False),
        ("nvcr.io/nvidia/pytorch:24.08-py3", "Tesla P40", True),
        ("nvcr.io/nvidia/tensorrt:24.08-py3", "V100", True),
        ("nvcr.io/nvidia/tensorrt:24.12-py3", "V100", False),
    ],
)
def test_an_image_of_a_month_is_for_the_gpus_of_its_release_notes(image: str, gpu: str, runs: bool) -> None:
    driver = "470.256.02" if gpu == "Tesla K80" else "560.35.05"
    fields = {"gpu": gpu, "driver": driver, "host": "docker", "image": image}
    assert (verdict(**fields) is Verdict.INCOMPATIBLE) is not runs


def test_a_framework_that_was_put_into_an_image_of_a_month_is_judged_by_itself() -> None:
    fields = {
        "gpu": "A100",
        "driver": "535.183.01",
        "host": "docker",
        "image": "nvcr.io/nvidia/tensorflow:20.03-tf1-py3",
    }
    assert verdict(**fields) is Verdict.INCOMPATIBLE
    assert verdict(**fields, framework="pytorch", framework_version="1.10.0+cu113").runs


def test_the_old_name_of_the_triton_server_is_read_as_its_image_of_that_month() -> None:
    fields = {"driver": "410.104", "framework": "TensorRT Inference Server", "framework_version": "19.01"}
    assert verdict(**fields, gpu="Quadro M2000") is Verdict.INCOMPATIBLE
    assert verdict(**fields, gpu="Tesla P40").runs


def test_statements_on_wheels_do_not_count_for_the_build_of_an_image_of_nvidia() -> None:
    fields = {"gpu": "RTX 5080", "driver": "576.40", "host": "wsl", "framework": "tensorrt-llm"}
    image = "nvcr.io/nvidia/tritonserver:{}-trtllm-python-py3"
    assert verdict(**fields, framework_version="0.19.0", image=image.format("25.05")).runs
    # Of a month whose CUDA is older than the GPU, the CUDA decides.
    assert verdict(**fields, framework_version="0.13.0", image=image.format("24.10")) is Verdict.INCOMPATIBLE
    assert verdict(**fields, framework_version="0.19.0", cuda="12.8") is Verdict.INCOMPATIBLE
