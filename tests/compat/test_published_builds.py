"""Facts on builds that no source lists: images of one month, one build for each CUDA, the content of a program."""

from __future__ import annotations

import re

import pytest

from compat import Verdict, case_from, check
from compat.evidence.names.distributions import ALIASES
from compat.evidence.names.image_name import read_image
from compat.facts.tables import framework_rows

NOT, OPEN = Verdict.INCOMPATIBLE, Verdict.UNKNOWN


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize("name", ["tensorrt", "paddlepaddle", "vllm"])
def test_ngc_images_of_a_month_have_one_cuda(name: str) -> None:
    known = read_image("nvcr.io/nvidia/pytorch:25.06-py3").cudas
    assert known
    assert read_image(f"nvcr.io/nvidia/{name}:25.06-py3").cudas == known
    assert not read_image(f"docker.io/someone/{name}:25.06-py3").cudas


def test_an_ngc_image_and_its_framework_are_one_thing_however_the_month_is_written() -> None:
    fields = {"gpu": "RTX 4080", "driver": "525.60.13", "host": "docker", "framework": "tensorrt"}
    assert verdict(**fields, image="nvcr.io/nvidia/tensorrt:23.02-py3", framework_version="23.02-py3 image").runs
    assert verdict(**fields, image="nvcr.io/nvidia/tensorrt:22.05-py3") is NOT  # its TensorRT is older than Ada


@pytest.mark.parametrize(
    ("gpu", "driver", "runs"),
    [("GTX 1080", "384.81", True), ("Tesla V100", "396.26", True), ("GTX 1080", "361.45", False)],
)
def test_of_a_program_with_a_build_for_each_cuda_the_one_for_the_driver_is_taken(
    gpu: str, driver: str, *, runs: bool
) -> None:
    assert verdict(gpu=gpu, driver=driver, framework="openmm", framework_version="7.4.1").runs is runs


def test_a_build_that_is_named_is_the_one() -> None:
    fields = {"gpu": "GTX 1080", "framework": "openmm", "framework_version": "7.4.1", "build": "conda cuda101"}
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


@pytest.mark.parametrize(("gpu", "runs"), [("RTX 4090", True), ("RTX 5080", False), ("GTX 980", False)])
def test_the_tensorrt_inside_a_program_sets_the_gpus(gpu: str, *, runs: bool) -> None:
    fields = {"framework": "my-detector", "build": "TensorRT 8.6.1 engine backend", "cuda": "12.1", "ptx": "yes"}
    assert verdict(gpu=gpu, driver="575.57.08", sm_list="5.2 7.5 8.9", **fields).runs is runs


@pytest.mark.parametrize(
    ("framework", "version", "build"),
    [("llama.cpp", "b6000", ""), ("whisper.cpp", "1.7.6", ""), ("ollama", "0.30.0", "")],
)
def test_programs_of_ggml_compress_their_code_where_cuda_12_8_builds_them(
    framework: str, version: str, build: str
) -> None:
    fields = {"gpu": "A100", "framework": framework, "framework_version": version, "cuda": "12.8", "build": build}
    assert verdict(**fields, driver="535.183.01") is NOT
    assert verdict(**fields, driver="550.90.07").runs


def test_ggml_can_be_built_without_compression() -> None:
    fields = {"gpu": "A100", "framework": "llama.cpp", "cuda": "12.9", "driver": "535.183.01"}
    assert verdict(**fields, build="GGML_CUDA_COMPRESSION_MODE=none").runs
    assert verdict(**fields).runs is False


def test_turing_runs_libraries_of_cuda_9_with_a_cudnn_of_its_time() -> None:
    fields = {"gpu": "RTX 2070", "driver": "418.56", "cuda": "9.0", "framework": "keras"}
    assert verdict(**fields, cudnn="7.4.2").runs
    assert verdict(**fields, cudnn="7.0.5") is NOT


def test_no_driver_older_than_a_board_is_tried_for_it() -> None:
    wheel = {"framework": "pytorch", "framework_version": "2.6.0+cu124"}
    assert verdict(gpu="H200 NVL", **wheel).runs
    assert verdict(gpu="H100", **wheel) is OPEN
    assert verdict(gpu="H20", driver="525.60.13", **wheel).runs  # a stated driver is not refused for it


def test_a_path_to_compat_libraries_in_the_image_finds_no_gpu_under_wsl() -> None:
    fields = {"gpu": "RTX 4070", "image": "vllm/vllm-openai:v0.16.0", "driver": "576.02"}
    assert verdict(**fields, host="wsl2") is NOT
    assert verdict(gpu="RTX 4070", image="vllm/vllm-openai:v0.9.0", driver="576.02", host="wsl2").runs


@pytest.mark.parametrize(
    "name", ["Jetson AGX Thor T5000", "NVIDIA Jetson Thor T5000", "Thor T5000 devkit", "Jetson Thor T4000"]
)
def test_a_thor_may_be_named_with_its_module(name: str) -> None:
    assert verdict(gpu=name, driver="JetPack 7.1", cuda="13.0", sm_list="11.0").runs


@pytest.mark.parametrize(
    ("build", "is_refused"),
    [
        ("Caffe with cuDNN", True),
        ("Torch7, cudnn.torch", True),
        ("USE_CUDNN := 1", True),
        ("without cuDNN", False),
        ("USE_CUDNN := 0", False),
        ("cuDNN disabled", False),
    ],
)
def test_what_uses_cudnn_in_any_release_runs_on_no_gpu_before_kepler(build: str, *, is_refused: bool) -> None:
    answer = check(case_from({"gpu": "GTX 580", "driver": "375.66", "cuda": "7.5", "build": build}))
    assert any(each.rule == "R-CUDNN" for each in answer.findings) is is_refused


def test_the_samples_of_cuda_carry_ptx_for_newer_gpus() -> None:
    case = {"gpu": "RTX 3080", "driver": "550.90.07", "host": "kubernetes", "framework": "cuda-samples"}
    assert check(case_from(case | {"image": "nvcr.io/nvidia/k8s/cuda-sample:vectoradd-cuda10.2"})).verdict.runs


@pytest.mark.parametrize(("gpu", "cuda", "runs"), [("RTX 4090", "11.1.1", False), ("RTX 3090", "11.1.1", True)])
def test_alphafold_compiles_its_models_by_the_toolkit_of_its_image(gpu: str, cuda: str, *, runs: bool) -> None:
    case = {"gpu": gpu, "driver": "525.147.05", "host": "docker", "framework": "alphafold"}
    image = f"nvidia/cuda:{cuda}-cudnn8-runtime-ubuntu18.04"
    assert check(case_from(case | {"image": image, "cuda": cuda})).verdict.runs is runs


def test_a_build_from_source_is_not_judged_by_the_targets_of_the_wheel_of_its_release() -> None:
    case = {"gpu": "GTX 960", "driver": "535.183.01", "framework": "onnxruntime", "framework_version": "1.22.0"}
    assert check(case_from(case)).verdict is Verdict.INCOMPATIBLE
    assert check(case_from(case | {"build": "built from source, CUDA 12.2"})).verdict.runs


@pytest.mark.parametrize(("cuda", "runs"), [("10.2", False), ("11.3", True)])
def test_an_extension_of_pytorch_needs_an_nvcc_that_knows_the_gpu_of_the_machine(cuda: str, *, runs: bool) -> None:
    build = f"compiled on the machine with nvcc {cuda}, torch 1.9.0"
    case = {"gpu": "RTX 3080", "driver": "470.57.02", "framework": "mmcv", "cuda": cuda, "build": build}
    assert check(case_from(case)).verdict.runs is runs


def test_text_in_brackets_after_a_reference_describes_it() -> None:
    case = {"gpu": "A100", "driver": "535.183.01", "host": "docker"}
    reference = "nvidia/cuda:11.8.0-base-ubuntu22.04"
    assert check(case_from(case | {"image": f"{reference} (pulled in May 2023)"})).verdict is (
        check(case_from(case | {"image": reference})).verdict
    )


def test_a_framework_of_the_tables_is_found_by_the_name_that_it_has_there() -> None:
    written = {name: re.sub(r"[^a-z0-9]", "", name) for name in framework_rows()}
    assert {name for name, plain in written.items() if ALIASES.get(plain, plain) != name} == set()


@pytest.mark.parametrize(
    ("version", "cuda", "runs"), [("1.0.2", "11.8", False), ("1.0.2", "12.4", True), ("1.1.1", "11.6", False)]
)
def test_a_wheel_of_one_cuda_finds_its_libraries_there_or_not_at_all(version: str, cuda: str, *, runs: bool) -> None:
    fields = {"gpu": "RTX 2080", "driver": "550.54.14", "framework": "faster-whisper", "framework_version": version}
    assert verdict(**fields, cuda=cuda).runs is runs


def test_a_month_names_the_release_beside_a_cuda_too() -> None:
    fields = {"gpu": "Tesla P100", "driver": "535.183.01", "framework": "onnxruntime", "cuda": "12.4"}
    assert verdict(**fields, build="CUDA 12 wheel of May 2026").runs
    assert verdict(**{**fields, "gpu": "GTX 970"}, build="CUDA 12 wheel of May 2026") is NOT


@pytest.mark.parametrize(
    ("framework", "build", "driver", "runs"),
    [
        ("triton", "Triton Release 21.02 NGC container", "460.32.03", True),
        ("tensorflow", "NGC TensorFlow container 20.06, tf1", "418.88", False),
        ("pytorch", "NVIDIA Release 23.04 (build 58180998), PyTorch image", "470.57.02", False),
        ("pytorch", "container of NGC 22.05", "515.43.04", True),
        ("pytorch", "pip wheel 1.7.1+cu101; NVIDIA container toolkit, image on Ubuntu 20.04", "418.88", True),
        ("pytorch", "pip wheel 1.7.1+cu101, container of Docker 20.10, NGC not used", "418.88", True),
        ("pytorch", "pip wheel 1.7.1+cu101, not the NGC container 24.05", "418.88", True),
    ],
)
def test_the_month_of_an_ngc_image_is_read_in_words(framework: str, build: str, driver: str, *, runs: bool) -> None:
    asked = {"gpu": "RTX 2080 Ti", "host": "docker", "framework": framework, "build": build, "driver": driver}
    assert verdict(**asked).runs is runs


def test_a_nightly_of_a_month_is_between_the_releases_around_it() -> None:
    asked = {"framework": "vllm", "build": "nightly image of March 2026", "driver": "595.58.03"}
    assert verdict(gpu="RTX 5070 Ti", **asked).runs
    assert verdict(gpu="GTX 1080", **asked) is NOT


@pytest.mark.parametrize(
    ("gpu", "framework", "build", "runs"),
    [
        ("RTX 2080", "vllm", "FP8 checkpoint", False),
        ("A40", "vllm", "FP8 checkpoint", True),
        ("A40", "sglang", "FP8 checkpoint", False),
        ("L40S", "sglang", "FP8 checkpoint", True),
        ("A40", "tensorrt-llm", "engine in fp8", False),
        ("H100", "tensorrt-llm", "NVFP4 checkpoint", False),
        ("B200", "tensorrt-llm", "NVFP4 checkpoint", True),
        ("RTX 2080", "torch", "attn_implementation flash_attention_2", False),
        ("A40", "torch", "attn_implementation flash_attention_2", True),
        ("RTX 2080", "torch", "flash_attention_2 disabled", True),
        ("RTX 2080", "torch", "attn_implementation sdpa, not flash_attention_2", True),
        ("RTX 2080", "torch", "flash_attn_2 is not installed", True),
        ("RTX 2080", "vllm", "no FP8", True),
        ("RTX 2080", "vllm", "non-FP8 checkpoint", True),
        ("RTX 2080", "vllm", "FP8 checkpoint replaced by GPTQ", True),
        ("RTX 2080", "vllm", "fp16 checkpoint, the FP8 one runs on another machine", True),
        ("RTX 2080", "vllm", "--kv_cache_dtype fp8", True),
        ("RTX 2080", "vllm", "KV cache in FP8", True),
        ("RTX 2080", "vllm", "FP8 weights and FP8 KV cache", False),
        ("H100", "tensorrt-llm", "FP8 engine, not NVFP4", True),
        ("RTX 2080", "vllm", "AWQ, --kv-cache-dtype fp8", True),
        ("GTX 1060", "faster-whisper", "compute_type float16", False),
        ("GTX 1060", "faster-whisper", "compute_type int8", True),
        ("RTX 2060", "faster-whisper", "compute_type float16", True),
    ],
)
def test_a_number_format_has_a_floor_of_its_own(gpu: str, framework: str, build: str, *, runs: bool) -> None:
    versions = {
        "vllm": "0.6.3",
        "faster-whisper": "1.1.0",
        "sglang": "0.4.6",
        "tensorrt-llm": "1.0.0",
        "torch": "2.7.1",
    }
    version = versions[framework]
    asked = {"driver": "575.57.08", "framework": framework, "framework_version": version, "build": build}
    assert verdict(gpu=gpu, **asked).runs is runs


@pytest.mark.parametrize(
    ("gpu", "framework", "build", "runs"),
    [
        ("GTX 1080", "comfyui", "portable, PyTorch 2.7.1+cu128", False),
        ("RTX 3070", "comfyui", "portable, PyTorch 2.7.1+cu128", True),
        ("GTX 780", "stable-diffusion-webui", "default installation of June 2023, torch 2.0.1+cu118", False),
        ("GTX 980", "automatic1111", "torch 2.0.1+cu118", True),
    ],
)
def test_a_program_on_pytorch_runs_where_its_wheel_does(gpu: str, framework: str, build: str, *, runs: bool) -> None:
    asked = {"driver": "572.16", "os": "windows", "framework": framework, "framework_version": "1.6.0"}
    driver = "475.14" if gpu == "GTX 780" else "572.16"
    assert verdict(gpu=gpu, **{**asked, "driver": driver}, build=build).runs is runs


def test_wheels_for_windows_have_the_targets_of_their_build_scripts() -> None:
    asked = {"driver": "537.13", "os": "windows", "framework": "torch"}
    assert verdict(gpu="GTX 1070", framework_version="1.13.1+cu117", **asked).runs
    assert verdict(gpu="GTX 1070", framework_version="2.4.0+cu121", **asked).runs
    assert verdict(gpu="Quadro K2200", framework_version="2.0.1+cu118", **asked).runs
    blackwell = {**asked, "driver": "580.88"}
    assert verdict(gpu="RTX 5080", framework_version="2.0.1+cu118", **blackwell) is NOT


def test_rapids_has_machine_code_for_blackwell_whatever_cuda_it_asks_for() -> None:
    answer = check(case_from({"gpu": "RTX 5090", "framework": "cuml", "framework_version": "25.08", "cuda": "12.8"}))
    assert answer.verdict.runs
    assert "machine code sm_120" in " ".join(each.message for each in answer.findings)


def test_the_program_whose_image_is_named_counts_before_the_framework_in_it() -> None:
    asked = {"gpu": "GTX 1080", "driver": "550.54.14", "host": "docker", "framework": "tensorflow"}
    named = check(case_from({**asked, "build": "image of DeepVariant 1.6.1"}))
    direct = check(case_from({**asked, "framework": "deepvariant", "framework_version": "1.6.1"}))
    assert named.verdict is direct.verdict
