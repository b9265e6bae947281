"""The GPUs and the JetPack that a tag names, where no table lists the image."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check


@pytest.mark.parametrize(
    ("gpu", "tag", "verdict"),
    [
        ("RTX 5080", "server-sm120", Verdict.COMPATIBLE),
        ("RTX 4080", "server-sm120", Verdict.INCOMPATIBLE),
        ("RTX 3090", "latest-sm_80", Verdict.COMPATIBLE),
        ("H100", "latest-sm_80", Verdict.INCOMPATIBLE),
        ("V100", "v2-sm70-sm75", Verdict.COMPATIBLE),
    ],
)
def test_a_target_in_a_tag_is_what_the_image_has_code_for(gpu: str, tag: str, verdict: Verdict) -> None:
    case = {"gpu": gpu, "driver": "580.95.05", "cuda": "12.8", "host": "docker"}
    assert check(case_from(case | {"image": f"registry.example.edu/lab/tool:{tag}"})).verdict is verdict


def test_a_target_in_a_tag_counts_before_what_wheels_of_the_framework_have() -> None:
    case = {"gpu": "RTX 5080", "driver": "580.95.05", "host": "docker", "framework": "vllm"}
    assert check(case_from(case | {"image": "registry.example.edu/lab/vllm-server:latest-sm120"})).verdict.runs


@pytest.mark.parametrize("tag", ["latest-jetpack5", "v8-jp5", "jetpack-5"])
@pytest.mark.parametrize(
    ("release", "runs"), [("JetPack 5.0.2", True), ("JetPack 5.1.3", True), ("JetPack 6.0", False)]
)
def test_an_image_for_a_jetpack_runs_on_the_line_of_l4t_that_it_brought(tag: str, release: str, *, runs: bool) -> None:
    case = {"gpu": "Jetson AGX Orin", "driver": release, "framework": "torch", "host": "docker"}
    assert check(case_from(case | {"image": f"registry.example.edu/lab/detector:{tag}"})).verdict.runs is runs
