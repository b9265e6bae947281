"""One table of distributions: the same name is the same build for specs, linter, inspection and engine."""

from __future__ import annotations

import pytest

from compat.evidence.names.builds import read_build_spec
from compat.evidence.names.distributions import Device, device_of, framework_of, gpu_framework


@pytest.mark.parametrize(
    ("name", "version", "extras", "device"),
    [
        ("torch", "2.6.0", (), Device.GPU),
        ("torch", "2.6.0+cpu", (), Device.CPU),
        ("torch", "2.6.0+rocm6.2", (), Device.CPU),
        ("pytorch-gpu", "", (), Device.GPU),
        ("tensorflow", "2.16.1", (), Device.GPU),
        ("tensorflow", "1.15.5", (), Device.GPU),
        ("tensorflow", "1.14.0", (), Device.CPU),
        ("tensorflow", "2.0.4", (), Device.CPU),
        ("tensorflow-gpu", "2.0.4", (), Device.GPU),
        ("tensorflow-cpu", "2.16.1", (), Device.CPU),
        ("intel-tensorflow", "2.16.1", (), Device.CPU),
        ("keras", "3.0.0", (), Device.OPEN),
        ("jax", "0.4.30", (), Device.CPU),
        ("jax", "0.4.30", ("cuda12",), Device.GPU),
        ("jax", "0.4.30", ("cuda12_local",), Device.GPU),
        ("jaxlib", "0.4.13+cuda12.cudnn89", (), Device.GPU),
        ("mlx", "0.32.4", (), Device.CPU),
        ("mlx", "0.32.4", ("cuda12",), Device.GPU),
        ("mlx-cuda-12", "0.32.4", (), Device.GPU),
        ("mlx-cuda", "0.30.0", (), Device.GPU),
        ("cupy", "", (), Device.GPU),
        ("cupy-cuda12x", "14.2.0", (), Device.GPU),
        ("cupy-rocm-5-0", "13.0.0", (), None),
        ("mxnet", "1.9.1", (), Device.CPU),
        ("mxnet-cu101mkl", "1.5.0", (), Device.GPU),
        ("onnxruntime", "1.20.0", (), Device.CPU),
        ("onnxruntime-gpu", "1.20.0", (), Device.GPU),
        ("paddlepaddle", "3.0.0", (), Device.CPU),
        ("cudf-cu12", "24.10.0", (), Device.GPU),
        ("pytorch-cuda", "12.4", (), None),
        ("torchvision", "0.21.0", (), None),
        ("numpy", "2.4.6", (), None),
    ],
)
def test_a_distribution_says_what_it_has_code_for(
    name: str, version: str, extras: tuple[str, ...], device: Device | None
) -> None:
    assert device_of(name, version, extras) is device


def test_a_jaxlib_uses_gpus_where_the_wheels_lie_that_bring_cuda_to_it() -> None:
    assert gpu_framework("jaxlib", "0.4.30") == ""
    assert gpu_framework("jaxlib", "0.4.30", beside=["jaxlib", "jax-cuda12-plugin"]) == "jax"
    assert gpu_framework("jaxlib", "0.4.30", beside=["jaxlib", "nvidia-cuda-runtime-cu12"]) == ""
    assert gpu_framework("jaxlib", "0.4.30", cuda="12.4") == "jax"
    assert gpu_framework("mlx", "0.32.4", beside=["mlx", "mlx-cuda-12"]) == "mlx"
    assert gpu_framework("mlx", "0.32.4", beside=["mlx", "jax-cuda12-plugin"]) == ""


@pytest.mark.parametrize(
    "name", ["torch", "tensorflow-gpu", "jaxlib", "cupy-cuda12x", "cudf-cu12", "onnxruntime-gpu", "vllm", "flash-attn"]
)
def test_the_engine_reads_a_distribution_as_the_framework_that_all_others_read(name: str) -> None:
    spec = read_build_spec(name, "", "")
    assert spec is not None
    assert spec.framework == framework_of(name)


def test_a_name_that_says_cpu_is_a_build_for_the_cpu() -> None:
    spec = read_build_spec("tensorflow-cpu", "2.16.1", "")
    assert spec is not None
    assert (spec.framework, spec.cpu_only) == ("tensorflow", True)
