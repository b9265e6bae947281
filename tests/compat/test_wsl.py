"""R-WSL: which drivers of Windows have CUDA for WSL 2."""

from __future__ import annotations

import pytest

from compat import Verdict, case_from, check


def _verdict(driver: str) -> Verdict:
    return check(case_from({"gpu": "RTX 3070", "host": "wsl", "driver": driver, "cuda": "11.0"})).verdict


@pytest.mark.parametrize("driver", ["456.71", "457.30", "461.40", "462.31", "466.11"])
def test_an_ordinary_driver_before_the_library_came_has_none(driver: str) -> None:
    assert _verdict(driver) is Verdict.INCOMPATIBLE


@pytest.mark.parametrize("driver", ["460.20", "465.42", "470.14", "471.41", "472.12"])
def test_a_preview_and_the_last_drivers_before_support_came_are_a_warning(driver: str) -> None:
    assert _verdict(driver) is Verdict.WITH_WARNING


def test_the_way_out_is_the_first_driver_that_is_supported() -> None:
    remedy = check(case_from({"gpu": "RTX 3070", "host": "wsl", "driver": "466.11", "cuda": "11.0"})).remedy
    assert remedy is not None
    assert "driver 495.00 or newer" in remedy.text


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        ("Windows 10 Pro build 19041.508, Docker Desktop", "Windows build 19041"),
        ("Windows 10 21H1, WSL 2", "Windows 10 21H1"),
        ("WSL 1 with Ubuntu 18.04", "WSL 1"),
        ("WSL version 1", "WSL 1"),
        ("CUDA samples; the A2 is in TCC mode", "TCC mode"),
        ("hashcat by OpenCL", "OpenCL"),
        ("a renderer on OptiX 7.7", "OptiX"),
    ],
)
def test_windows_before_21h2_wsl_1_and_cards_in_tcc_mode_have_no_gpus_in_wsl_2(build: str, reason: str) -> None:
    answer = check(case_from({"gpu": "A2", "host": "wsl", "driver": "551.61", "cuda": "12.2", "build": build}))
    assert answer.verdict is Verdict.INCOMPATIBLE
    assert any(each.rule == "R-WSL" and reason in each.message for each in answer.findings)


@pytest.mark.parametrize(
    "build",
    [
        "Windows 11 build 22631.3296",
        "Windows 10 22H2 build 19045.4",
        "upgraded from Windows 10 2004 to Windows 11",
        "Windows 10 22H2 (was 1909)",
        "updated from Windows build 19041 to build 19045",
        "WSL 2.1.5.0, not TCC",
        "not in TCC mode any more",
        "TCC can be turned off",
        "the card was switched from TCC to WDDM",
        "WDDM mode instead of TCC",
        "TCC mode disabled",
        "isn't in TCC mode",
        "non-TCC card",
        "converted from WSL 1 to WSL 2",
        "WSL2, was WSL1 before",
        "no OpenCL",
        "OpenCL headers are installed too",
        "OpenCL backend not compiled",
        "does not use OpenCL",
        "OptiX denoiser off",
        "OpenCL by PoCL",
    ],
)
def test_later_windows_has_gpus_in_wsl_2(build: str) -> None:
    answer = check(case_from({"gpu": "RTX 4070", "host": "wsl", "driver": "551.61", "cuda": "12.2", "build": build}))
    assert answer.verdict.runs
