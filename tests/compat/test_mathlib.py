"""Math libraries of a CUDA release, which are older than some GPUs that its other code runs on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import Severity, Verdict, case_from, check
from compat.tables import architectures, toolkits
from compat.versions import ComputeCapability, CudaVersion

DRIVER = "440.33.01"
LINES = sorted({toolkit.version.line for toolkit in toolkits()})


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


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
    asked = {"driver": DRIVER, "framework": framework, "cuda": cuda, "build": "built from source, sm_70, compute_70"}
    assert verdict(gpu="RTX 2080 Ti", **asked).runs is runs
    assert verdict(gpu="V100", **(asked | {"cuda": "9.0"})).runs


def test_ptx_of_the_program_does_not_make_up_for_its_libraries() -> None:
    asked = {"gpu": "RTX 2080 Ti", "driver": DRIVER, "cuda": "9.0", "sm_list": "6.1", "ptx": "6.1"}
    assert verdict(**asked).runs
    assert verdict(**asked, framework="darknet", build="built from source") is Verdict.INCOMPATIBLE


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(architectures())), st.sampled_from(LINES), st.sampled_from(LINES))
def test_newer_math_libraries_never_fail_where_older_ones_do_not(
    gpu: ComputeCapability, one: CudaVersion, other: CudaVersion
) -> None:
    def is_told(cuda: CudaVersion) -> bool:
        asked = {"compute_capability": str(gpu), "driver": "999.10", "cuda": str(cuda), "framework": "darknet"}
        found = check(case_from(asked), with_remedy=False).findings
        return any(each.rule == "R-MATHLIB" and each.severity is not Severity.NOTE for each in found)

    older, newer = sorted((one, other))
    assert is_told(older) or not is_told(newer)
