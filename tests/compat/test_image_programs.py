"""Images that no table has, by the program that they are named after; and images whose tags name a release of it."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check
from compat.evidence.names.image_name import read_image

NOT, OPEN = Verdict.INCOMPATIBLE, Verdict.UNKNOWN


def verdict(**case: str) -> Verdict:
    return check(case_from({"host": "docker", **case}), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("reference", "program", "version"),
    [
        ("ghcr.io/somebody/frigate:0.13.2-tensorrt", "frigate", "0.13.2"),
        ("registry.example.edu/lab/frigate-gpu:v0.15.0", "frigate", "0.15.0"),
        ("lmsysorg/sglang:v0.4.8.post1-cu126", "sglang", "0.4.8.post1"),
        ("nvcr.io/nvidia/isaac-sim:5.0.0", "isaacsim", "5.0.0"),
        ("nvcr.io/nvidia/clara/clara-parabricks:4.4.0-1", "parabricks", "4.4.0"),
        ("somebody/immich-machine-learning:release-cuda", "immich", ""),
        ("nvcr.io/nim/mistralai/mixtral-8x7b-instruct-v01:1.2.1", "nim", "1.2.1"),
        ("tensorflow/serving:2.11.0-gpu", "tensorflow", "2.11.0"),
        ("somebody/comfyui:cu126", "pytorch", ""),
        ("somebody/onnxruntime:latest", "", ""),  # of many builds: a release has to be named
        ("somebody/comfyui:latest", "", ""),  # of any torch
        ("somebody/wallpapers:2.1", "", ""),
        ("nvcr.io/nvidia/vllm:25.10-py3", "vllm", ""),  # a month of NVIDIA is no release of the program
    ],
)
def test_a_name_tells_the_program_and_its_release(reference: str, program: str, version: str) -> None:
    name = read_image(reference)
    assert (name.framework, name.framework_version) == (program, version)


@pytest.mark.parametrize(
    ("gpu", "driver", "image", "expected"),
    [
        ("GTX 1070", "525.147.05", "somebody/frigate:0.13.2-tensorrt", NOT),
        ("GTX 1070", "535.183.01", "somebody/frigate:0.13.2-tensorrt", "runs"),
        ("RTX 5080", "570.133.07", "lmsysorg/sglang:v0.4.5-cu124", NOT),
        ("RTX 5060", "570.144", "somebody/comfyui:cu126", NOT),
        ("RTX 5060", "570.144", "somebody/comfyui:cu128", "runs"),
        ("RTX 2070", "550.54.14", "somebody/immich-machine-learning:release-cuda", "runs"),
        ("Quadro K4200", "470.223.02", "somebody/immich-machine-learning:v1.110.0-cuda", NOT),
        ("RTX 5070", "575.57.08", "somebody/immich-machine-learning:v1.130.0-cuda", NOT),
        ("P100", "550.54.14", "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.3.3", NOT),
        ("A10", "550.54.14", "nvcr.io/nim/meta/llama-3.1-8b-instruct:1.3.3", "runs"),
        ("H100", "550.90.07", "nvcr.io/nvidia/isaac-sim:4.5.0", NOT),
        ("L40", "550.90.07", "nvcr.io/nvidia/isaac-sim:4.5.0", "runs"),
        ("RTX 3080", "470.223.02", "ghcr.io/huggingface/text-generation-inference:2.1.1", NOT),
        ("A100", "535.183.01", "ghcr.io/huggingface/text-generation-inference:2.3.1", "runs"),
        ("RTX A5000", "520.61.05", "ghcr.io/huggingface/text-generation-inference:1.1.0", "runs"),
        ("GTX 1080 Ti", "470.223.02", "ghcr.io/ggml-org/llama.cpp:light-cuda", NOT),
        ("Tesla K40", "384.130", "bvlc/caffe:gpu", "runs"),
        ("GTX 1650", "535.183.01", "jellyfin/jellyfin:10.11.2", "runs"),
        ("GTX 1650", "470.223.02", "jellyfin/jellyfin:10.11.2", NOT),
    ],
)
def test_an_image_is_judged_by_the_program_that_it_is_named_after(
    gpu: str, driver: str, image: str, expected: str
) -> None:
    found = verdict(gpu=gpu, driver=driver, image=image)
    assert found.runs if expected == "runs" else found is expected


@pytest.mark.parametrize(
    ("gpu", "system", "tag", "expected"),
    [
        ("Jetson Nano", "JetPack 4.6.1", "6.0.1-samples", "runs"),
        ("Jetson Nano", "JetPack 4.6.1", "6.1.1-samples", NOT),
        ("Jetson AGX Orin", "JetPack 5.1.2", "6.3-triton-multiarch", "runs"),
        ("Jetson AGX Orin", "JetPack 5.1.2", "7.1-triton-multiarch", NOT),
    ],
)
def test_deepstream_for_jetson_is_for_the_jetpack_of_its_release(
    gpu: str, system: str, tag: str, expected: str
) -> None:
    found = verdict(gpu=gpu, os=system, image=f"nvcr.io/nvidia/deepstream-l4t:{tag}")
    assert found.runs if expected == "runs" else found is expected


@pytest.mark.parametrize("system", ["JetPack 5.1.1", "Ubuntu 20.04 (JetPack 5.1.1)", "Ubuntu 20.04, L4T R35.3.1"])
def test_a_jetpack_may_be_named_in_the_field_for_the_system(system: str) -> None:
    fields = {"gpu": "Jetson Orin NX", "os": system, "image": "pytorch/pytorch:2.2.0-cuda12.1-cudnn8-runtime"}
    assert verdict(**fields) is NOT
    assert verdict(gpu="Jetson Orin NX", os=system, cuda="11.4").runs


def test_text_generation_inference_is_published_for_amd64_alone() -> None:
    fields = {"gpu": "GH200", "driver": "550.54.14", "image": "ghcr.io/huggingface/text-generation-inference:2.4.1"}
    assert verdict(**fields, cpu_arch="arm64") is NOT


@pytest.mark.parametrize(("driver", "expected"), [("525.85.12", "runs"), ("470.223.02", NOT)])
def test_wheels_beside_a_torch_name_its_cuda_behind_it(driver: str, expected: str) -> None:
    found = verdict(gpu="RTX 3070", driver=driver, framework="torch-cluster", framework_version="1.6.3+pt22cu121")
    assert found.runs if expected == "runs" else found is expected
