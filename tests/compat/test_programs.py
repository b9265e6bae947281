"""Programs that bring their own builds: name and version determine what a release is built for."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("version", "gpu", "driver", "runs"),
    [
        ("0.1.30", "Tesla K80", "470.199.02", False),  # https://github.com/ollama/ollama/issues/1756
        ("0.1.30", "GTX 970", "470.199.02", True),
        ("0.3.6", "H100", "550.54.15", True),  # PTX of CUDA 11.3
        ("0.9.0", "RTX 2080 Ti", "470.199.02", True),  # the runner for CUDA 11
        ("0.11.0", "RTX 2080 Ti", "470.199.02", False),  # which went with pull request 10694
        ("0.12.0", "RTX 5090", "570.124.06", True),
        ("0.20.0", "Tesla P40", "550.54.15", True),
        ("0.30.5", "Tesla P40", "550.54.15", False),  # docs/gpu.mdx: Maxwell and Pascal need driver 570
        ("0.30.5", "Tesla P40", "570.124.06", True),
        ("0.30.5", "V100", "535.104.05", True),
    ],
)
def test_a_release_of_ollama_runs_where_one_of_its_runners_does(
    version: str, gpu: str, driver: str, runs: bool
) -> None:
    by_name = verdict(gpu=gpu, driver=driver, framework="Ollama", framework_version=version)
    by_image = verdict(gpu=gpu, driver=driver, image=f"ollama/ollama:{version}")
    assert by_name.runs is by_image.runs is runs


def test_the_cuda_of_the_driver_says_nothing_of_what_a_release_of_ollama_is_built_for() -> None:
    fields = {"gpu": "Tesla K80", "driver": "470.199.02", "cuda": "11.4", "framework": "ollama"}
    assert verdict(**fields, framework_version="0.3.0") is Verdict.INCOMPATIBLE


def test_a_program_around_a_framework_is_read_as_the_framework_that_its_build_names() -> None:
    fields = {"gpu": "RTX 5090", "driver": "570.124.06", "framework": "ComfyUI", "framework_version": "0.3.40"}
    assert verdict(**fields) is Verdict.UNKNOWN
    assert verdict(**fields, build="torch 2.6.0+cu124") is Verdict.INCOMPATIBLE
    assert verdict(**fields, build="torch 2.7.0+cu128").runs


@pytest.mark.parametrize(
    ("case", "runs"),
    [
        ({"framework": "faster-whisper", "framework_version": "1.0.3", "gpu": "GTX 970"}, False),  # neither 5.0 nor 5.2
        ({"framework": "faster-whisper", "framework_version": "1.0.3", "gpu": "GTX 1080"}, True),
        ({"framework": "ctranslate2", "framework_version": "3.24.0", "gpu": "GTX 970"}, True),
        ({"framework": "paddlepaddle-gpu", "framework_version": "2.6.2", "gpu": "T4"}, True),
        ({"framework": "paddlepaddle-gpu", "framework_version": "2.6.2", "gpu": "H100"}, False),
        ({"framework": "paddlepaddle-gpu", "framework_version": "2.4.2", "gpu": "RTX 3090", "build": "cu117"}, True),
        ({"framework": "paddlepaddle-gpu", "framework_version": "2.4.2", "gpu": "RTX 3090"}, False),  # of CUDA 10.2
        ({"framework": "paddlepaddle-gpu", "framework_version": "2.4.2", "gpu": "P100"}, True),
        ({"framework": "paddlepaddle-gpu", "framework_version": "2.5.2", "gpu": "RTX 3090"}, True),  # of CUDA 11.8
        ({"framework": "paddlepaddle-gpu", "framework_version": "2.0.1", "cuda": "10.2", "gpu": "A100"}, False),
        ({"framework": "paddlepaddle-gpu", "framework_version": "1.8.4.post107", "cuda": "10.0", "gpu": "T4"}, True),
        ({"framework": "xgboost", "framework_version": "2.0.3", "gpu": "H100"}, True),
        ({"framework": "faiss-gpu-cu12", "framework_version": "1.14.1.post1", "gpu": "H100"}, False),
        # https://github.com/opendatalab/MinerU/issues/3416
        ({"framework": "SGLang", "framework_version": "0.4.6", "gpu": "V100"}, False),
        ({"framework": "SGLang", "framework_version": "0.4.6", "gpu": "T4"}, True),
        # https://github.com/sgl-project/sglang/issues/24224
        ({"framework": "SGLang", "framework_version": "0.5.4", "gpu": "T4"}, False),
        ({"framework": "FlashInfer", "framework_version": "0.2.5", "cuda": "12.4", "gpu": "V100"}, False),
        ({"framework": "TensorRT", "framework_version": "10.1", "gpu": "GTX 1080"}, False),
        ({"framework": "TensorRT", "framework_version": "10.1", "gpu": "V100"}, True),
        ({"framework": "TensorRT", "framework_version": "10.5", "gpu": "T4"}, True),  # and no CUDA 13
        ({"framework": "Triton Inference Server", "framework_version": "23.05", "gpu": "T4"}, True),
    ],
)
def test_a_program_runs_where_its_release_has_code(case: dict[str, str], runs: bool) -> None:
    assert verdict(driver="550.54.15", **case).runs is runs


@pytest.mark.parametrize(
    ("framework", "version", "cuda", "runs"),
    [
        ("tensorflow", "2.4.0", "10.1", False),
        ("tensorflow", "2.4.0", "11.0", True),
        ("tensorflow", "2.4.0", "11.2", True),  # the libraries of a major have one name
        ("tensorflow", "1.13.1", "10.0", True),
        ("tensorflow", "1.13.1", "10.1", False),  # before CUDA 11 they are named after the minor
        ("onnxruntime-gpu", "1.19", "11.8", False),
        ("ctranslate2", "4.4.0", "11.8", False),
        ("ctranslate2", "4.4.0", "12.4", True),
    ],
)
def test_a_build_that_loads_cuda_from_outside_finds_the_libraries_that_it_was_linked_with(
    framework: str, version: str, cuda: str, runs: bool
) -> None:
    fields = {"gpu": "T4", "driver": "550.54.15", "framework": framework, "framework_version": version}
    assert verdict(**fields, cuda=cuda).runs is runs
    assert verdict(**fields, cuda=cuda, build="built from source").runs


@pytest.mark.parametrize(
    ("version", "cudnn", "runs"), [("4.4.0", "8.9", True), ("4.5.0", "8.9", False), ("4.5.0", "9.1", True)]
)
def test_ctranslate2_loads_the_cudnn_of_its_major(version: str, cudnn: str, runs: bool) -> None:
    fields = {"gpu": "T4", "driver": "550.54.15", "framework": "ctranslate2", "framework_version": version}
    assert verdict(**fields, cuda="12.2", cudnn=cudnn).runs is runs


@pytest.mark.parametrize(
    ("version", "build", "gpu", "driver", "runs"),
    [
        ("0.4.36", "pip jax[cuda12]", "RTX 4090", "550.54.15", True),  # machine code 8.0
        ("0.5.3", "pip jax[cuda12]", "GTX 1080", "550.54.15", True),
        ("0.10.1", "pip jax[cuda12]", "NVIDIA B200", "575.57.08", True),
        ("0.10.1", "pip jax[cuda13]", "V100", "580.65.06", False),
        # Their code for desktop chips does not run on Tegra, and their PTX is newer than it.
        ("0.4.36", "pip jax[cuda12]", "Jetson AGX Xavier", "JetPack 5.1.2", False),
        (
            "0.8.1",
            "pip jax[cuda12]",
            "Jetson Orin NX",
            "JetPack 6.2",
            False,
        ),  # https://github.com/jax-ml/jax/pull/40492
    ],
)
def test_wheels_of_jax_have_code_for_the_gpus_that_were_read_in_them(
    version: str, build: str, gpu: str, driver: str, runs: bool
) -> None:
    fields = {"gpu": gpu, "driver": driver, "framework": "jax", "framework_version": version, "build": build}
    assert verdict(**fields, cpu_arch="arm64" if gpu.startswith("Jetson") else "").runs is runs
