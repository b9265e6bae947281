"""GPUs that a release or a build of a program is for, without a list of targets."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("case", "is_refused"),
    [
        # https://github.com/tensorflow/tensorflow/issues/1881
        ({"framework": "tensorflow", "framework_version": "0.7.1", "gpu": "GTX 770"}, True),
        ({"framework": "tensorflow", "framework_version": "0.8.0", "gpu": "GTX 770"}, False),
        # https://github.com/tensorflow/tensorflow/issues/6083
        ({"framework": "tensorflow", "framework_version": "0.12.0rc0", "gpu": "GTX 770", "os": "windows"}, True),
        ({"framework": "tensorflow", "framework_version": "0.12.0rc0", "gpu": "GTX 770", "os": "linux"}, False),
        # https://github.com/tensorflow/tensorflow/issues/22594
        ({"framework": "tensorflow", "framework_version": "1.11.0", "gpu": "GTX 780 Ti", "os": "windows"}, True),
        ({"framework": "tensorflow", "framework_version": "1.11.0", "gpu": "GTX 780 Ti", "os": "linux"}, False),
        # https://github.com/tensorflow/tensorflow/issues/27505
        ({"framework": "tensorflow", "framework_version": "1.13.1", "build": "from source", "gpu": "GTX 770"}, True),
        # https://github.com/tensorflow/tensorflow/issues/36853
        ({"framework": "tensorflow", "framework_version": "1.15.0", "build": "libtensorflow", "gpu": "GTX 980"}, True),
        ({"framework": "tensorflow", "framework_version": "1.15.0", "build": "pip", "gpu": "GTX 980"}, False),
        ({"framework": "BMInf", "gpu": "Tesla P100"}, True),
        ({"framework": "BMInf", "gpu": "GTX 1080"}, False),
        ({"framework": "FauxPilot", "gpu": "GTX 980"}, True),
        ({"framework": "LMDeploy", "framework_version": "0.6.0", "gpu": "Tesla P40"}, True),
        ({"framework": "DeepGEMM", "gpu": "A100", "cuda": "12.4"}, True),
        ({"framework": "DeepGEMM", "gpu": "H100", "cuda": "12.4"}, False),
        # https://github.com/JuliaGPU/CuArrays.jl/issues/248
        ({"framework": "CuArrays.jl", "cuda": "8.0", "gpu": "GTX 460"}, True),
        ({"framework": "CUDAnative.jl", "cuda": "8.0", "gpu": "GTX 770"}, False),
        # https://github.com/JuliaGPU/CUDA.jl/issues/1846
        ({"framework": "CUDA.jl", "framework_version": "4.2.0", "cuda": "11.8", "gpu": "H100"}, True),
        ({"framework": "CUDA.jl", "framework_version": "5.0.0", "cuda": "12.2", "gpu": "H100"}, False),
        ({"framework": "CUDA.jl", "framework_version": "4.2.0", "cuda": "11.8", "gpu": "A100"}, False),
        # https://github.com/OpenNMT/CTranslate2/issues/1865
        ({"framework": "ctranslate2", "framework_version": "4.5.0", "build": "int8", "gpu": "RTX 5090"}, True),
        ({"framework": "ctranslate2", "framework_version": "4.5.0", "build": "int8", "gpu": "RTX 4090"}, False),
        ({"framework": "ctranslate2", "framework_version": "4.5.0", "build": "float16", "gpu": "RTX 5090"}, False),
        # https://github.com/Purfview/whisper-standalone-win/issues/551
        ({"framework": "faster-whisper", "build": "Faster-Whisper-XXL", "gpu": "RTX 5060 Ti", "os": "windows"}, True),
    ],
)
def test_a_release_is_refused_on_gpus_that_its_project_leaves_out(case: dict[str, str], *, is_refused: bool) -> None:
    kepler = case["gpu"] in {"GTX 770", "GTX 780 Ti"}
    driver = {"GTX 460": "390.157", "RTX 5090": "575.57.08", "RTX 5060 Ti": "576.80"}.get(case["gpu"], "535.183.01")
    driver = "470.256.02" if kepler else driver
    assert (verdict(driver=driver, **case) is Verdict.INCOMPATIBLE) is is_refused


@pytest.mark.parametrize(
    ("version", "cuda", "gpu", "driver", "runs"),
    [
        ("4.2.1", "", "RTX 2080 Ti", "410.66", True),
        ("5.1.0", "9.2", "RTX 2080 Ti", "410.66", True),  # it asks for no CUDA
        ("6.2.6", "", "GTX 1060", "470.256.02", True),
        ("6.2.6", "", "RTX 4090", "470.256.02", False),  # the driver is too old for the GPU
        # https://github.com/hashcat/hashcat/issues/3916
        ("6.2.6", "11.2", "RTX 4090", "525.147.05", False),
        ("6.2.6", "11.8", "RTX 4090", "525.147.05", True),
    ],
)
def test_hashcat_runs_by_opencl_where_no_cuda_is_there_for_it(
    version: str, cuda: str, gpu: str, driver: str, runs: bool
) -> None:
    fields = {"gpu": gpu, "driver": driver, "framework": "hashcat", "framework_version": version, "cuda": cuda}
    assert verdict(**fields).runs is runs


@pytest.mark.parametrize(
    ("version", "gpu", "driver", "targets", "runs"),
    [
        ("0.30.6", "Jetson AGX Orin", "JetPack 7.2", "", False),  # https://github.com/ollama/ollama/issues/16602
        ("0.30.6", "Jetson Orin NX", "JetPack 6.2", "", True),  # a runner of its own
        ("0.31.0", "RTX 3060", "570.133.07", "", True),
        ("0.31.0", "RTX 3060", "535.183.01", "", False),  # drivers before 550 are skipped
        ("0.32.0", "RTX 3060", "580.95.05", "750 890 1000 1200", False),  # they do not list 860
        ("0.32.0", "RTX 4060", "580.95.05", "750 890 1000 1200", True),
        ("0.32.14", "NVIDIA B200", "575.57.08", "", True),
    ],
)
def test_ollama_takes_the_gpus_that_it_lists_and_no_others(
    version: str, gpu: str, driver: str, targets: str, runs: bool
) -> None:
    fields = {"gpu": gpu, "driver": driver, "framework": "ollama", "framework_version": version, "sm_list": targets}
    assert verdict(**fields).runs is runs


def test_libraries_for_arm64_servers_find_no_gpu_on_a_jetson_before_jetpack_7() -> None:
    fields = {"gpu": "Jetson AGX Orin", "framework": "ollama", "framework_version": "0.6.0"}
    assert verdict(**fields, driver="JetPack 6.1", build="cuda_v12") is Verdict.INCOMPATIBLE
    assert verdict(**fields, driver="JetPack 6.1", build="cuda_jetpack6").runs


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
    ("case", "runs"),
    [
        ({"framework": "lmdeploy", "framework_version": "0.5.0", "gpu": "V100"}, True),
        ({"framework": "lmdeploy", "framework_version": "0.10.1", "gpu": "H100"}, True),
        ({"framework": "lmdeploy", "framework_version": "0.10.1", "gpu": "RTX 5090"}, False),
        ({"framework": "lmdeploy", "framework_version": "0.16.0", "gpu": "RTX 5090"}, True),
        ({"framework": "ctransformers", "framework_version": "0.2.27", "gpu": "GTX 1080"}, True),
        ({"framework": "ctransformers", "framework_version": "0.2.24", "gpu": "Tesla P100"}, True),  # PTX 5.2
        ({"framework": "ctransformers", "framework_version": "0.2.27", "gpu": "T4", "driver": "515.105.01"}, False),
        # https://github.com/openmm/openmm/issues/3477
        ({"framework": "OpenMM", "cuda": "11.6", "gpu": "A100", "driver": "470.141.03"}, False),
        ({"framework": "OpenMM", "cuda": "11.2", "gpu": "A100", "driver": "470.141.03"}, True),
        ({"framework": "OpenMM", "cuda": "11.0", "gpu": "RTX 3090", "driver": "470.141.03"}, False),
        ({"image": "xprobe/xinference:v2.1.0", "gpu": "A100", "driver": "470.141.03"}, False),
        ({"image": "xprobe/xinference:v1.9.0", "gpu": "A100"}, True),
        ({"image": "xprobe/xinference:v3.0.1", "gpu": "V100"}, False),
    ],
)
def test_programs_run_where_their_cuda_and_code_do(case: dict[str, str], runs: bool) -> None:
    assert verdict(**({"driver": "575.57.08", "host": "docker"} | case)).runs is runs


@pytest.mark.parametrize("gpu", ["GeForce 8800 GTX", "9600M GT", "GTX 260", "Quadro FX 3800", "Tesla C1060"])
def test_no_toolkit_of_the_tables_makes_code_for_a_gpu_from_before_fermi(gpu: str) -> None:
    for cuda in ("7.5", "8.0", "11.8"):
        assert check(case_from({"gpu": gpu, "cuda": cuda, "framework": "caffe"})).verdict is Verdict.INCOMPATIBLE
