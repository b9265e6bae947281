"""Math libraries of a CUDA release, which are older than some GPUs that its other code runs on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from known import verdict

from cli.check.mapping import case_from
from compat import Severity, Verdict, check
from compat.facts.tables import architectures, toolkits
from compat.values.versions import ComputeCapability, CudaVersion

DRIVER = "440.33.01"
LINES = sorted({toolkit.version.line for toolkit in toolkits()})


@pytest.mark.parametrize(
    ("framework", "cuda", "runs"),
    [
        ("tensorflow", "9.0", False),  # https://github.com/tensorflow/tensorflow/issues/25002
        ("mxnet", "8.0", False),  # https://github.com/apache/mxnet/issues/13337
        ("darknet", "9.0", False),  # https://github.com/AlexeyAB/darknet/issues/2836
        ("caffe2", "9.0", False),  # https://github.com/facebookresearch/Detectron/issues/807
        ("darknet", "10.0", True),
        ("caffe", "9.2", True),  # https://github.com/traveller59/second.pytorch/issues/43
    ],
)
def test_an_own_build_with_libraries_from_before_turing_fails_there(framework: str, cuda: str, runs: bool) -> None:
    fields = {"driver": DRIVER, "framework": framework, "cuda": cuda, "build": "sm_70;compute_70"}
    assert verdict(gpu="RTX 2080 Ti", **fields).runs is runs
    assert verdict(gpu="V100", **(fields | {"cuda": "9.0"})).runs


@pytest.mark.parametrize(("cudnn", "runs"), [("7.1.4", False), ("7.2", False), ("7.3.1", True), ("7.4", True)])
def test_cuda_9_2_fails_on_turing_with_a_cudnn_from_before_it(cudnn: str, runs: bool) -> None:
    fields = {"driver": DRIVER, "framework": "caffe", "cuda": "9.2", "build": "sm_70;no ptx", "cudnn": cudnn}
    assert verdict(gpu="T4", **fields).runs is runs
    assert verdict(gpu="V100", **fields).runs


@pytest.mark.parametrize(
    ("framework", "cuda", "gpu", "verdict_"),
    [
        ("tensorflow", "7.5", "GTX 1070", Verdict.INCOMPATIBLE),  # https://github.com/tensorflow/tensorflow/issues/3507
        ("caffe", "7.0", "Titan X (Pascal)", Verdict.INCOMPATIBLE),  # https://github.com/NVIDIA/caffe/issues/270
        ("CNTK", "7.5", "GTX 1080 Ti", Verdict.INCOMPATIBLE),  # https://github.com/microsoft/CNTK/issues/655
        ("caffe", "7.5", "GTX 980", Verdict.COMPATIBLE),
        ("caffe", "8.0", "GTX 1070", Verdict.COMPATIBLE),
        ("tensorflow", "10.0", "RTX 3070", Verdict.INCOMPATIBLE),  # https://github.com/weizhepei/CasRel/issues/62
        ("mxnet", "10.2", "A100", Verdict.WITH_WARNING),
        ("mxnet", "11.0", "A100", Verdict.COMPATIBLE),
        # https://github.com/tensorflow/tensorflow/issues/14701
        ("tensorflow", "8.0", "V100", Verdict.WITH_WARNING),
    ],
)
def test_libraries_that_always_fail_on_newer_gpus_are_refused_where_a_program_always_calls_them(
    framework: str, cuda: str, gpu: str, verdict_: Verdict
) -> None:
    fields = {"driver": "460.91.03", "framework": framework, "cuda": cuda, "build": f"nvcc {cuda}", "ptx": "5.0"}
    listed = "5.0;5.2" if cuda < "8" and cuda[1] == "." else "5.0;5.2;6.0;6.1" + ";8.0" * cuda.startswith("11")
    assert verdict(gpu=gpu, **fields, sm_list=listed).value == verdict_


def test_ptx_of_the_program_does_not_make_up_for_its_libraries() -> None:
    fields = {"gpu": "RTX 2080 Ti", "driver": DRIVER, "cuda": "9.0", "sm_list": "6.1", "ptx": "6.1"}
    assert verdict(**fields).runs
    assert verdict(**fields, framework="darknet", build="nvcc 9.0") is Verdict.INCOMPATIBLE


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(architectures())), st.sampled_from(LINES), st.sampled_from(LINES))
def test_newer_math_libraries_never_fail_where_older_ones_do_not(
    gpu: ComputeCapability, one: CudaVersion, other: CudaVersion
) -> None:
    def is_reported(cuda: CudaVersion) -> bool:
        fields = {"compute_capability": str(gpu), "driver": "999.10", "cuda": str(cuda), "framework": "darknet"}
        found = check(case_from(fields), with_remedy=False).findings
        return any(each.rule == "R-MATHLIB" and each.severity is not Severity.NOTE for each in found)

    older, newer = sorted((one, other))
    assert is_reported(older) or not is_reported(newer)


@pytest.mark.parametrize(
    ("version", "gpu", "runs"),
    [
        ("1.5.1+cu101", "RTX 3080 Ti", False),  # https://github.com/zzhang1987/Factor-Graph-Neural-Network/issues/4
        ("1.4.0", "RTX 3060", False),  # https://github.com/pytorch/pytorch/issues/32881
        ("0.4.1", "RTX 3090", False),  # https://github.com/yulunzhang/RCAN/issues/143
        ("1.4.0", "RTX 2080 Ti", True),
        ("1.4.0", "V100", True),
        ("1.7.1+cu110", "A100", True),
    ],
)
def test_pytorch_of_a_cuda_before_11_fails_on_ampere_in_spite_of_its_ptx(version: str, gpu: str, *, runs: bool) -> None:
    assert verdict(gpu=gpu, driver="510.47.03", framework="torch", framework_version=version).runs is runs


def test_cufft_before_11_8_fails_on_ada_where_a_program_always_calls_it() -> None:
    # https://github.com/m-bain/whisperX/issues/254
    fields = {"gpu": "RTX 4080", "driver": "535.183.01", "framework": "whisperX"}
    assert verdict(**fields, cuda="11.7") is Verdict.INCOMPATIBLE
    assert verdict(**fields, cuda="11.8") is not Verdict.INCOMPATIBLE
    assert verdict(**{**fields, "gpu": "RTX 3080"}, cuda="11.7") is not Verdict.INCOMPATIBLE
