"""Answers about releases whose wheels, metadata or archives were read: what people who know them would say."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check

NOT = Verdict.INCOMPATIBLE


def verdict(framework: str, version: str, gpu: str, driver: str, build: str = "") -> Verdict:
    case = {"framework": framework, "framework_version": version, "gpu": gpu, "driver": driver, "build": build}
    return check(case_from({name: text for name, text in case.items() if text}), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("framework", "version", "gpu", "driver", "build"),
    [
        ("xformers", "0.0.24", "A100", "535.104.05", ""),
        ("sglang", "0.4.8", "H100", "560.35.03", ""),
        ("sglang", "0.5.12", "H100", "580.65.06", ""),
        ("torchvision", "0.15.2", "RTX 4090", "535.104.05", ""),
        ("tensorrt", "10.14.1", "A100", "560.35.03", "tensorrt-cu12"),
        ("faiss", "1.10.0", "RTX 3090", "535.104.05", "pip faiss-gpu-cu12"),
        ("cupy", "7.0.0", "Tesla V100", "410.48", "cupy-cuda100"),
        ("onnxruntime", "1.27.0", "L40S", "580.65.06", ""),
    ],
)
def test_a_release_runs_on_what_it_was_built_for(
    framework: str, version: str, gpu: str, driver: str, build: str
) -> None:
    assert verdict(framework, version, gpu, driver, build).runs


@pytest.mark.parametrize(
    ("framework", "version", "gpu", "driver", "build"),
    [
        pytest.param("xformers", "0.0.24", "A100", "450.80.02", "", id="cuda-12.1-before-525"),
        pytest.param("sglang", "0.4.8", "RTX 5090", "575.57.08", "", id="torch-of-cuda-12.6-on-blackwell"),
        pytest.param("sglang", "0.5.12", "H100", "550.90.07", "", id="torch-of-cuda-13-before-580"),
        pytest.param("torchvision", "0.15.2", "RTX 5090", "575.57.08", "", id="torch-2.0-on-blackwell"),
        pytest.param("tensorrt", "10.14.1", "A100", "560.35.03", "", id="the-default-is-for-cuda-13"),
        pytest.param("tensorrt", "10.5.0", "Tesla V100", "560.35.03", "", id="no-volta-from-10.5-on"),
        pytest.param("faiss", "1.10.0", "H100", "535.104.05", "pip faiss-gpu-cu12", id="no-code-for-hopper-no-ptx"),
        pytest.param("cupy", "7.0.0", "Tesla V100", "396.26", "cupy-cuda100", id="cuda-10-before-410"),
        pytest.param("onnxruntime", "1.27.0", "Tesla V100", "580.65.06", "", id="no-volta-with-cuda-13"),
        pytest.param("onnxruntime", "1.31.1", "B200", "580.65.06", "", id="code-for-12.0-and-none-for-10.0"),
        pytest.param("rapids", "25.08", "A100", "470.199.02", "", id="no-cuda-11-any-more"),
    ],
)
def test_a_release_is_refused_where_its_code_or_its_cuda_does_not_fit(
    framework: str, version: str, gpu: str, driver: str, build: str
) -> None:
    assert verdict(framework, version, gpu, driver, build) is NOT
