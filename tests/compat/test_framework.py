"""R-FRAMEWORK, and what the tables know of builds: their GPUs, their CUDA, their code, the libraries around them."""

from __future__ import annotations

import re

import pytest
from known import verdict

from compat import Verdict
from compat.evidence.names.distributions import ALIASES
from compat.facts.tables import frameworks

NOT = Verdict.INCOMPATIBLE


@pytest.mark.parametrize(
    ("framework", "version", "gpu", "is_refused"),
    [
        ("tensorflow", "0.7.1", "GTX 770", True),  # https://github.com/tensorflow/tensorflow/issues/1881
        ("tensorflow", "0.8.0", "GTX 770", False),
        ("LMDeploy", "0.6.0", "Tesla P40", True),
        ("lmdeploy", "0.5.0", "V100", False),
        ("lmdeploy", "0.10.1", "H100", False),
        ("lmdeploy", "0.10.1", "RTX 5090", True),
        ("lmdeploy", "0.16.0", "RTX 5090", False),
        ("flash-attn", "3.0.0", "A100", True),
        ("flash-attn", "3.0.0", "H100", False),
        # https://github.com/JuliaGPU/CUDA.jl/issues/1846
        ("CUDA.jl", "4.2.0", "H100", True),
        ("CUDA.jl", "5.0.0", "H100", False),
        ("CUDA.jl", "4.2.0", "A100", False),
    ],
)
def test_a_release_is_refused_on_gpus_that_its_project_leaves_out(
    framework: str, version: str, gpu: str, *, is_refused: bool
) -> None:
    driver = {"GTX 770": "470.256.02", "RTX 5090": "575.57.08"}.get(gpu, "550.54.14")
    cuda = "11.8" if framework == "CUDA.jl" else ""
    found = verdict(driver=driver, framework=framework, framework_version=version, gpu=gpu, cuda=cuda)
    assert (found is NOT) is is_refused


@pytest.mark.parametrize(
    ("version", "gpu", "driver", "targets", "runs"),
    [
        ("0.31.0", "RTX 3060", "570.133.07", "", True),
        ("0.31.0", "RTX 3060", "535.183.01", "", False),  # drivers before 550 are skipped
        ("0.32.0", "RTX 3060", "580.95.05", "7.5 8.9 10.0 12.0", False),  # they do not list 8.6
        ("0.32.0", "RTX 4060", "580.95.05", "7.5 8.9 10.0 12.0", True),
        ("0.32.14", "NVIDIA B200", "575.57.08", "", True),
    ],
)
def test_ollama_takes_the_gpus_that_it_lists_and_no_others(
    version: str, gpu: str, driver: str, targets: str, runs: bool
) -> None:
    fields = {"gpu": gpu, "driver": driver, "framework": "ollama", "framework_version": version, "sm_list": targets}
    assert verdict(**fields).runs is runs


@pytest.mark.parametrize(
    ("version", "gpu", "driver", "runs"),
    [
        ("5.4.0", "RTX 4090", "580.95.05", False),  # https://github.com/JuliaGPU/CUDA.jl/issues/2896
        ("5.4.0", "RTX 4090", "570.133.07", True),
        ("5.9.2", "RTX 4090", "580.95.05", True),
        ("5.10.0", "Tesla P40", "580.95.05", False),  # https://github.com/JuliaGPU/CUDA.jl/issues/3079
        ("5.10.0", "Tesla P40", "570.133.07", True),
        ("6.2.1", "Tesla P40", "580.95.05", True),
    ],
)
def test_a_release_of_cuda_jl_takes_the_toolkit_of_its_driver(version: str, gpu: str, driver: str, runs: bool) -> None:
    fields = {"gpu": gpu, "driver": driver, "framework": "CUDA.jl", "framework_version": version, "cuda": "12.4"}
    assert (verdict(**fields) is Verdict.INCOMPATIBLE) is not runs


@pytest.mark.parametrize(
    ("gpu", "driver", "runs"),
    [("GTX 1080", "384.81", True), ("Tesla V100", "396.26", True), ("GTX 1080", "361.45", False)],
)
def test_of_a_program_with_a_build_for_each_cuda_the_one_for_the_driver_is_taken(
    gpu: str, driver: str, *, runs: bool
) -> None:
    assert verdict(gpu=gpu, driver=driver, framework="openmm", framework_version="7.4.1").runs is runs


def test_a_build_that_is_named_is_the_one() -> None:
    fields = {"gpu": "GTX 1080", "framework": "openmm", "framework_version": "7.4.1", "build": "conda cuda10.1"}
    assert verdict(**fields, driver="390.87") is NOT
    assert verdict(**fields, driver="418.88").runs


@pytest.mark.parametrize(
    ("gpu", "version", "driver", "runs"),
    [
        ("L40S", "0.16.0", "550.90.07", True),
        ("A100", "0.13.0", "470.199.02", False),
        ("RTX 5080", "0.19.0", "570.124.06", False),
        ("RTX 5080", "0.20.0", "575.57.08", True),
        ("H100", "1.1.0", "570.124.06", False),
    ],
)
def test_releases_of_tensorrt_llm_are_of_the_cuda_of_their_containers(
    gpu: str, version: str, driver: str, *, runs: bool
) -> None:
    fields = {"framework": "tensorrt-llm", "framework_version": version, "cuda_compat": "no"}
    assert verdict(gpu=gpu, driver=driver, **fields).runs is runs


def test_triton_needs_a_driver_for_what_its_ptxas_makes() -> None:
    fields = {"gpu": "RTX 3090", "framework": "triton", "framework_version": "3.0.0"}
    assert verdict(**fields, driver="515.65.01") is NOT
    assert verdict(**fields, driver="535.54.03").runs


@pytest.mark.parametrize(
    ("version", "cuda", "runs"), [("1.0.2", "11.8", False), ("1.0.2", "12.4", True), ("1.1.1", "11.6", False)]
)
def test_a_wheel_of_one_cuda_finds_its_libraries_there_or_not_at_all(version: str, cuda: str, *, runs: bool) -> None:
    fields = {"gpu": "RTX 2080", "driver": "550.54.14", "framework": "faster-whisper", "framework_version": version}
    assert verdict(**fields, cuda=cuda).runs is runs


def test_a_framework_of_the_tables_is_found_by_the_name_that_it_has_there() -> None:
    written = {name: re.sub(r"[^a-z0-9]", "", name) for name in frameworks()}
    assert {name for name, plain in written.items() if ALIASES.get(plain, plain) != name} == set()


RUN = [
    ("xformers", "0.0.24", "A100", "535.104.05", ""),
    ("sglang", "0.4.8", "H100", "560.35.03", ""),
    ("sglang", "0.5.12", "H100", "580.65.06", ""),
    ("torchvision", "0.15.2", "RTX 4090", "535.104.05", ""),
    ("tensorrt", "10.14.1", "A100", "560.35.03", "tensorrt-cu12"),
    ("faiss", "1.10.0", "RTX 3090", "535.104.05", "faiss-gpu-cu12"),
    ("cupy", "7.0.0", "Tesla V100", "410.48", "cupy-cuda100"),
    ("onnxruntime", "1.27.0", "L40S", "580.65.06", ""),
]
REFUSED = [
    ("xformers", "0.0.24", "A100", "450.80.02", ""),  # CUDA 12.1 before 525
    ("sglang", "0.4.8", "RTX 5090", "575.57.08", ""),  # torch of CUDA 12.6 on Blackwell
    ("sglang", "0.5.12", "H100", "550.90.07", ""),  # torch of CUDA 13 before 580
    ("torchvision", "0.15.2", "RTX 5090", "575.57.08", ""),  # torch 2.0 on Blackwell
    ("tensorrt", "10.14.1", "A100", "560.35.03", ""),  # the default is for CUDA 13
    ("tensorrt", "10.5.0", "Tesla V100", "560.35.03", ""),  # no Volta from 10.5 on
    ("faiss", "1.10.0", "H100", "535.104.05", "faiss-gpu-cu12"),  # no code for Hopper, no PTX
    ("cupy", "7.0.0", "Tesla V100", "396.26", "cupy-cuda100"),  # CUDA 10 before 410
    ("onnxruntime", "1.27.0", "Tesla V100", "580.65.06", ""),  # no Volta with CUDA 13
    ("onnxruntime", "1.31.1", "B200", "580.65.06", ""),  # code for 12.0 and none for 10.0
    ("rapids", "25.08", "A100", "470.199.02", ""),  # no CUDA 11 any more
]


@pytest.mark.parametrize(
    ("framework", "version", "gpu", "driver", "build", "runs"),
    [*((*each, True) for each in RUN), *((*each, False) for each in REFUSED)],
)
def test_a_release_whose_wheels_were_read_runs_on_what_it_was_built_for_alone(
    framework: str, version: str, gpu: str, driver: str, build: str, *, runs: bool
) -> None:
    found = verdict(framework=framework, framework_version=version, gpu=gpu, driver=driver, build=build)
    assert (found.runs, found is NOT) == (runs, not runs)


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
        # https://github.com/HuangJunJie2017/BEVDet/issues/314
        ("nvcr.io/nvidia/tensorrt:22.04-py3", "RTX 4080", False),
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
    image = "nvcr.io/nvidia/tensorflow:20.03-tf1-py3"
    fields = {"gpu": "A100", "driver": "535.183.01", "host": "docker", "image": image}
    assert verdict(**fields) is Verdict.INCOMPATIBLE
    assert verdict(**fields, framework="pytorch", framework_version="1.10.0+cu113").runs


def test_statements_on_wheels_do_not_count_for_the_build_of_an_image_of_nvidia() -> None:
    fields = {"gpu": "RTX 5080", "driver": "575.57.08", "host": "docker", "framework": "tensorrt-llm"}
    image = "nvcr.io/nvidia/tritonserver:{}-trtllm-python-py3"
    assert verdict(**fields, framework_version="0.19.0", image=image.format("25.05")).runs
    # Of a month whose CUDA is older than the GPU, it is open whether there is PTX.
    assert verdict(**fields, framework_version="0.13.0", image=image.format("24.10")) is Verdict.UNKNOWN
    assert verdict(**fields, framework_version="0.19.0", cuda="12.8") is Verdict.INCOMPATIBLE
