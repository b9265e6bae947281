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
