"""Images that are made for one L4T release, on hosts with that or another one."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check

RUNS, WARNS, NOT, OPEN = Verdict.COMPATIBLE, Verdict.WITH_WARNING, Verdict.INCOMPATIBLE, Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("gpu", "host", "image", "verdict"),
    [
        # R35 and R36: any release of the line, and no other line.
        ("AGX Orin", "35.1.0", "dustynv/l4t-pytorch:r35.1.0-pth1.13-py3", RUNS),
        ("AGX Orin", "35.4.1", "nvcr.io/nvidia/l4t-ml:r35.2.1-py3", RUNS),
        ("AGX Orin", "36.3", "dustynv/l4t-pytorch:r36.2.0", RUNS),
        ("AGX Orin", "36.4.3", "dustynv/l4t-pytorch:r36.2.0", WARNS),
        ("AGX Orin", "36.3", "dustynv/pytorch:2.7-r36.4.0-cu128-24.04", WARNS),
        ("AGX Orin", "35.4.1", "dustynv/l4t-pytorch:r36.2.0", NOT),
        ("Xavier NX", "35.4.1", "dustynv/l4t-pytorch:r36.2.0", NOT),
        ("AGX Orin", "36.3", "dustynv/l4t-pytorch:r35.1.0-pth1.13-py3", NOT),
        # R32: CUDA and the libraries are those of the host.
        ("Jetson Nano", "32.7.4", "nvcr.io/nvidia/l4t-base:r32.7.1", RUNS),
        ("Jetson AGX Xavier", "32.5.1", "dustynv/ros:foxy-pytorch-l4t-r32.5.0", RUNS),
        ("Jetson Nano", "32.7.1", "dustynv/ros:foxy-pytorch-l4t-r32.5.0", WARNS),
        ("Jetson Nano", "32.5.1", "nvcr.io/nvidia/l4t-base:r32.7.1", NOT),
        ("Jetson AGX Xavier", "32.3.1", "dustynv/ros:foxy-pytorch-l4t-r32.5.0", NOT),
        ("AGX Orin", "35.4.1", "nvcr.io/nvidia/l4t-pytorch:r32.7.1-pth1.10-py3", NOT),
        # JetPack 7 runs what arm64 servers run; of older images nobody says it, and they have no code for newer chips.
        ("AGX Orin", "39.2", "dustynv/l4t-pytorch:r36.4.0", OPEN),
        ("Jetson AGX Thor", "38.2", "dustynv/l4t-pytorch:r36.4.0", NOT),
        # A release that is not for the module at all.
        ("Xavier NX", "36.3", "dustynv/l4t-pytorch:r36.2.0", NOT),
        # No release: one on which the image runs is meant, where there is one.
        ("AGX Orin", "", "dustynv/l4t-pytorch:r36.2.0", RUNS),
        ("Jetson Nano", "", "dustynv/l4t-pytorch:r36.2.0", NOT),
    ],
)
def test_an_image_runs_on_the_line_of_l4t_that_it_is_made_for(
    gpu: str, host: str, image: str, verdict: Verdict
) -> None:
    answer = check(case_from({"gpu": gpu, "driver": host, "image": image, "os": "l4t", "host": "docker"}))
    assert answer.verdict is verdict, answer.findings
    assert answer.findings[0].rule == "R-JETSON"


def test_the_way_out_is_a_jetpack_of_the_line_of_the_image() -> None:
    case = {"gpu": "AGX Orin", "driver": "35.4.1", "image": "dustynv/l4t-pytorch:r36.2.0", "os": "l4t"}
    answer = check(case_from(case))
    assert answer.remedy is not None
    assert "JetPack 6.0" in answer.remedy.text


@pytest.mark.parametrize(
    ("gpu", "host", "image"),
    [
        ("Jetson AGX Xavier", "JetPack 5.1.2", "nvcr.io/nvidia/pytorch:23.05-py3"),
        ("Jetson Orin Nano", "JetPack 6.1", "nvcr.io/nvidia/tritonserver:24.08-py3"),
        ("Jetson TX2", "", "nvidia/cuda:10.1-devel-ubuntu18.04"),
        ("Jetson Nano", "JetPack 4.6", "nvcr.io/nvidia/tensorrt:22.03-py3"),
    ],
)
def test_an_image_for_servers_does_not_run_on_a_jetson_before_jetpack_7(gpu: str, host: str, image: str) -> None:
    assert check(case_from({"gpu": gpu, "driver": host, "image": image, "cpu_arch": "arm64"})).verdict is NOT


@pytest.mark.parametrize(
    ("gpu", "host", "version", "runs"),
    [
        ("Jetson AGX Orin", "JetPack 6.1", "7.1", True),
        ("Jetson AGX Orin", "JetPack 6.1", "7.1.0", True),
        ("Jetson AGX Orin", "JetPack 6.1", "8.0", False),
        ("Jetson AGX Orin", "JetPack 5.1.2", "7.0", False),
        ("Jetson AGX Thor", "JetPack 7.0", "8.0", True),
    ],
)
def test_a_release_of_deepstream_is_for_one_jetpack(gpu: str, host: str, version: str, *, runs: bool) -> None:
    asked = {"gpu": gpu, "driver": host, "framework": "deepstream", "framework_version": version, "os": "l4t"}
    assert check(case_from(asked)).verdict.runs is runs


def test_the_previews_of_jetpack_5_are_for_orin_too() -> None:
    asked = {"gpu": "Jetson AGX Orin", "image": "nvcr.io/nvidia/l4t-ml:r34.1.1-py3"}
    assert check(case_from({**asked, "driver": "L4T 34.1.1"})).verdict.runs
    assert check(case_from({**asked, "driver": "JetPack 6.0"})).verdict is NOT


def test_the_words_igpu_mean_the_image_of_ngc_for_jetson() -> None:
    asked = {"gpu": "Jetson AGX Orin", "driver": "JetPack 6.1", "framework": "torch", "os": "l4t"}
    assert check(case_from({**asked, "build": "NGC container 24.08"})).verdict is NOT
    assert check(case_from({**asked, "build": "NGC container 24.08 with -igpu tag"})).verdict is not NOT
