"""Programs with known spans of releases: the CUDA, the GPUs and the drivers that a release is for."""

from __future__ import annotations

import pytest

from compat import Severity, Verdict, case_from, check

NOT, OPEN = Verdict.INCOMPATIBLE, Verdict.UNKNOWN


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("program", "version", "gpu", "driver", "expected"),
    [
        ("CatBoost", "0.12.0", "GTX 1080", "384.111", NOT),  # https://github.com/catboost/catboost/issues/520
        ("CatBoost", "0.12.0", "GTX 1080", "410.48", "runs"),
        ("CatBoost", "0.25", "T4", "410.104", NOT),  # https://github.com/catboost/catboost/issues/1591
        ("CatBoost", "0.25", "T4", "450.51.06", "runs"),
        ("CatBoost", "1.2.0", "P100", "418.87.00", NOT),  # https://github.com/catboost/catboost/issues/2238
        ("dorado", "0.8.3", "RTX 5080", "570.124.06", NOT),
        ("dorado", "0.8.3", "RTX 4080", "535.104.05", "runs"),
        ("dorado", "1.1.0", "RTX 5080", "570.124.06", "runs"),
        ("Isaac Sim", "4.5.0", "GTX 1080 Ti", "550.54.14", NOT),
        ("Isaac Sim", "5.1.0", "RTX 4070", "590.44.01", NOT),
        ("Isaac Sim", "5.1.0", "RTX 4070", "580.95.05", "runs"),
        ("unsloth", "2025.1", "GTX 1080 Ti", "550.54.14", OPEN),  # its page and a report contradict each other
        ("Isaac Sim", "4.5.0", "RTX 3090", "525.147.05", OPEN),
        ("text-generation-inference", "2.1.0", "RTX 2080 Ti", "550.54.14", NOT),
        ("text-generation-inference", "3.1.0", "RTX 5070", "570.124.06", NOT),
        ("text-generation-inference", "3.1.0", "A10", "550.54.14", "runs"),
        ("MATLAB", "R2017b", "GTX 1070", "384.81", "runs"),
        ("MATLAB", "R2019a", "Quadro 4000", "390.157", NOT),  # Fermi ended with R2017b
        ("MATLAB", "R2020b", "RTX 3080", "455.45.01", NOT),  # forward compatibility is off since then
        ("MATLAB", "R2024b", "Quadro K6000", "470.223.02", NOT),
        ("MATLAB", "R2024a", "RTX A4000", "550.54.14", "runs"),
        ("OptiX", "8.1", "RTX 4090", "550.54.14", NOT),
        ("OptiX", "7.7", "RTX 2070", "535.104.05", "runs"),
        ("exllamav3", "0.0.6", "T4", "560.35.03", NOT),
        ("DeepStream", "7.1", "GTX 1070", "560.35.03", NOT),  # TensorRT 10.3
        ("DeepStream", "6.1", "RTX 4080", "525.60.13", NOT),  # TensorRT 8.2
        ("DeepStream", "6.3", "RTX 2080", "525.147.05", "runs"),
        ("parabricks", "4.2.0", "GTX 1080 Ti", "535.104.05", NOT),
        ("Riva", "2.14.0", "P40", "535.104.05", NOT),
        ("Riva", "2.19.0", "V100", "550.54.14", NOT),
        ("AutoAWQ", "0.2.5", "V100", "550.54.14", NOT),
        ("AutoAWQ", "0.2.5", "T4", "550.54.14", "runs"),
        ("nunchaku", "0.3.1", "GTX 1080 Ti", "570.124.06", NOT),
        ("T-Rex miner", "0.20.1", "GTX 780 Ti", "470.57.02", NOT),
        ("Aphrodite Engine", "0.5.3", "GTX 970", "535.104.05", NOT),
        ("Cosmos-Predict2.5", "2.5", "RTX A6000", "550.54.14", NOT),
        ("GPT4All", "3.4.2", "GTX 750 Ti", "535.104.05", NOT),
        ("GPT4All", "3.4.2", "GTX 980", "535.104.05", "runs"),
        ("Isaac Sim", "4.5.0", "H100", "550.54.14", NOT),  # no RT cores
        ("Isaac Sim", "5.1.0", "GTX 1660", "580.95.05", NOT),
    ],
)
def test_a_release_is_judged_by_the_span_that_it_is_in(
    program: str, version: str, gpu: str, driver: str, expected: str
) -> None:
    found = verdict(framework=program, framework_version=version, gpu=gpu, driver=driver)
    assert found.runs if expected == "runs" else found is expected


@pytest.mark.parametrize(
    ("version", "gpu", "expected"),
    [("1.9", "A40", NOT), ("1.9", "L4", "runs"), ("0.5", "L4", NOT), ("0.5", "H100", "runs")],
)
def test_fp8_of_transformer_engine_asks_for_gpus_that_have_it(version: str, gpu: str, expected: str) -> None:
    fields = {"framework": "transformer-engine", "framework_version": version, "gpu": gpu, "driver": "550.54.14"}
    found = verdict(**fields, build="fp8_autocast")
    assert found.runs if expected == "runs" else found is expected
    assert verdict(**fields).runs


@pytest.mark.parametrize(
    ("version", "build", "gpu", "driver", "expected"),
    [
        ("1.12.4", "katago-v1.12.4-cuda11.2-windows-x64", "GTX 1650", "452.39", "runs"),
        ("1.15.3", "cuda build", "RTX 2060", "516.94", NOT),
        ("1.6.1", "cuda build", "RTX 3070", "461.92", NOT),  # https://github.com/lightvector/KataGo/issues/328
    ],
)
def test_katago_by_cuda_is_judged_by_the_cuda_of_its_release(
    version: str, build: str, gpu: str, driver: str, expected: str
) -> None:
    found = verdict(framework="KataGo", framework_version=version, build=build, gpu=gpu, driver=driver, os="windows")
    assert found.runs if expected == "runs" else found is expected


def test_a_driver_needs_not_be_stated_where_the_gpu_decides() -> None:
    assert verdict(framework="dorado", framework_version="0.9.0", gpu="RTX 5070 Ti") is NOT
    assert verdict(framework="dorado", framework_version="0.9.0", gpu="GTX 1650") is OPEN


def test_one_of_several_builds_of_a_release_is_meant_only_where_it_is_named() -> None:
    fields = {"framework": "frigate", "framework_version": "0.12.0", "gpu": "GTX 1650", "driver": "525.147.05"}
    assert verdict(**fields, build="tensorrt image").runs
    assert verdict(**fields) is OPEN


@pytest.mark.parametrize(
    ("version", "gpu", "driver", "expected"),
    [
        ("5.1", "RTX 3060", "546.33", "runs"),
        ("5.1", "RTX 3060", "528.49", OPEN),
        ("4.4.3", "GTX 980", "528.49", "runs"),
        ("4.4.3", "GTX 980", "472.12", OPEN),
        ("4.5.3", "GTX 780", "474.11", OPEN),
    ],
)
def test_cycles_by_optix_runs_on_the_gpus_and_drivers_of_the_manual_whose_release_is_doubtful(
    version: str, gpu: str, driver: str, expected: str
) -> None:
    fields = {"framework": "Blender", "framework_version": version, "build": "Cycles OptiX", "os": "Windows 11"}
    found = verdict(**fields, gpu=gpu, driver=driver)
    assert found.runs if expected == "runs" else found is expected


@pytest.mark.parametrize(
    ("version", "system", "gpu", "driver", "expected"),
    [
        ("2026.914.1", "linux", "GTX 1060", "580.95.05", NOT),
        ("2026.914.1", "linux", "RTX 2060", "580.95.05", "runs"),
        ("2025.924.154138", "windows", "GTX 1060", "546.33", "runs"),
        ("2025.924.154138", "windows", "GTX 1060", "472.12", OPEN),
        ("2026.516.1", "windows", "GTX 1060", "546.33", NOT),
        ("2026.516.1", "windows", "GTX 1060", "580.97", "runs"),
    ],
)
def test_a_row_for_one_system_says_nothing_of_the_other(
    version: str, system: str, gpu: str, driver: str, expected: str
) -> None:
    found = verdict(framework="sunshine", framework_version=version, os=system, gpu=gpu, driver=driver)
    assert found.runs if expected == "runs" else found is expected


def test_a_doubtful_end_of_a_span_refuses_nothing() -> None:
    answer = check(
        case_from(
            {
                "framework": "cryoSPARC",
                "framework_version": "4.5.0",
                "gpu": "RTX A6000",
                "driver": "515.65.01",
            }
        )
    )
    assert answer.verdict is OPEN
    assert any(
        "needs driver 520.61.05" in each.message and each.severity is Severity.UNKNOWN for each in answer.findings
    )


def test_a_build_of_ones_own_is_not_judged_by_what_its_project_publishes() -> None:
    fields = {"framework": "dorado", "framework_version": "0.9.0", "gpu": "RTX 5080", "driver": "570.124.06"}
    assert verdict(**fields, cuda="12.8", build="built from source, sm_120").runs


def test_ollama_leaves_a_gpu_alone_whose_driver_is_older_than_it_asks_for() -> None:
    fields = {"framework": "ollama", "framework_version": "0.32.0", "gpu": "RTX 3080"}
    assert verdict(**fields, driver="535.183.01") is NOT
    assert verdict(**fields, driver="550.54.15").runs


def test_a_plain_number_beside_an_image_of_a_month_is_that_of_the_build_in_it() -> None:
    fields = {"gpu": "A100", "driver": "460.32.03", "image": "nvcr.io/nvidia/mxnet:21.02-py3", "framework": "mxnet"}
    assert verdict(**fields, framework_version="1.8.0").runs
    assert not verdict(**fields, framework_version="1.8.0", build="pip install mxnet-cu102").runs


@pytest.mark.parametrize(
    ("program", "version", "driver", "expected"),
    [
        ("OBS", "28.1.2", "466.77", NOT),
        ("OBS", "29.1.3", "472.12", "runs"),
        ("OBS", "31.0.0", "537.58", NOT),
        ("OBS", "32.2.0", "566.36", NOT),
        ("OBS", "32.0.1", "566.36", "runs"),
        ("HandBrake", "1.7.1", "528.02", NOT),
        ("HandBrake", "1.9.1", "546.33", NOT),
        ("HandBrake", "1.9.1", "552.22", "runs"),
        ("FFmpeg", "7.0", "572.16", "runs"),  # every API up to 13.0 is there
        ("FFmpeg", "7.0", "537.58", OPEN),
        ("HandBrake", "1.7.0", "31.0.15.2802", NOT),  # 528.02 as Windows lists it
    ],
)
def test_an_encoder_needs_the_driver_of_the_api_that_its_release_is_built_with(
    program: str, version: str, driver: str, expected: str
) -> None:
    found = verdict(gpu="GTX 1660", framework=program, framework_version=version, driver=driver, os="Windows 10")
    assert found.runs if expected == "runs" else found is expected


@pytest.mark.parametrize(
    ("version", "host", "env", "warns"),
    [
        ("0.25.0", "wsl", "", True),
        ("0.25.0", "wsl", "VLLM_WSL2_ENABLE_PIN_MEMORY=1", False),
        ("0.26.0", "wsl", "VLLM_USE_V2_MODEL_RUNNER=0", False),
        ("0.25.0", "docker", "", False),
        ("0.19.0", "wsl", "", False),
    ],
)
def test_vllm_under_wsl_gets_a_warning_unless_pinned_memory_is_requested(
    version: str, host: str, env: str, warns: bool
) -> None:
    fields = {"gpu": "RTX 4070", "driver": "591.44", "framework": "vllm", "framework_version": version}
    answer = check(case_from({**fields, "host": host, "env": env}), with_remedy=False)
    assert any("UVA" in each.message for each in answer.findings) is warns


def test_the_v1_engine_of_vllm_is_requested_by_a_variable() -> None:
    fields = {"gpu": "T4", "driver": "550.54.14", "framework": "vllm"}
    assert verdict(**fields, framework_version="0.8.5", env="VLLM_USE_V1=1") is NOT
    assert verdict(**fields, framework_version="0.8.5", env="VLLM_USE_V1=0").runs
    assert verdict(**fields, framework_version="0.10.2", env="VLLM_USE_V1=1").runs


@pytest.mark.parametrize(
    ("case", "runs"),
    [
        ({"framework": "ethminer", "framework_version": "0.11.0", "gpu": "GTX 1070", "driver": "376.33"}, True),
        ({"framework": "ethminer", "framework_version": "0.14.0", "gpu": "GTX 1070", "driver": "376.33"}, False),
        ({"framework": "ethminer", "framework_version": "0.14.0", "gpu": "GTX 1070", "driver": "390.77"}, True),
        ({"framework": "lorax", "gpu": "T4", "driver": "535.183.01"}, False),
        ({"framework": "LoRAX", "gpu": "A10G", "driver": "535.183.01"}, True),
        ({"framework": "torchserve", "framework_version": "0.11.1", "build": "-gpu image", "gpu": "M60", "driver": "470.223.02"}, False),  # noqa: E501
        ({"framework": "torchserve", "framework_version": "0.11.1", "build": "-gpu image", "gpu": "T4", "driver": "535.183.01"}, True),  # noqa: E501
        ({"framework": "koboldcpp", "framework_version": "1.90", "build": "koboldcpp_cu12", "gpu": "GTX 780 Ti", "driver": "470.223.02"}, False),  # noqa: E501
        ({"framework": "flash-attn", "build": "FlashAttention 2 from PyPI", "gpu": "RTX 2080 Ti", "driver": "550.90.07"}, False),  # noqa: E501
        ({"framework": "pg-strom", "build": "release of 2016", "gpu": "Tesla K10", "driver": "375.66"}, False),
        ({"framework": "deeplearning4j", "framework_version": "1.0.0-beta6", "cuda": "10.2", "gpu": "Tesla K10", "driver": "450.80.02"}, False),  # noqa: E501
        ({"framework": "qiskit-aer", "framework_version": "0.11.2", "gpu": "GTX 960", "driver": "535.183.01"}, False),
        ({"framework": "qiskit-aer", "framework_version": "0.11.2", "gpu": "A100", "driver": "535.183.01"}, True),
        ({"framework": "mojo", "framework_version": "26.4", "gpu": "L4", "driver": "570.124.06"}, False),
        ({"framework": "mojo", "framework_version": "26.4", "gpu": "L4", "driver": "580.95.05"}, True),
        ({"framework": "mojo", "framework_version": "26.4", "gpu": "P100", "driver": "580.95.05"}, False),
        ({"framework": "mojo", "framework_version": "26.4", "gpu": "Jetson AGX Orin", "driver": "JetPack 6.1"}, False),
        ({"framework": "mojo", "framework_version": "26.4", "gpu": "Jetson AGX Thor", "driver": "JetPack 7.0"}, True),
        ({"framework": "mojo", "framework_version": "26.4", "gpu": "Jetson AGX Orin", "driver": "JetPack 6.1", "env": "MODULAR_NVPTX_COMPILER_PATH=/usr/bin/ptxas"}, True),  # noqa: E501
    ],
)  # fmt: skip
def test_programs_that_reports_name_often_are_in_the_table(case: dict[str, str], *, runs: bool) -> None:
    found = verdict(**case)
    assert found.runs if runs else found is NOT
