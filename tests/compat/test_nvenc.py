"""Hardware video encoding: the API that a program is built with against the one that the driver has."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import Verdict, case_from, check
from compat.evidence.drivers import reaches
from compat.facts.rows import Nvenc
from compat.facts.tables import driver_branches, nvencs
from compat.values.hosts import Platform
from compat.values.versions import CudaVersion, DriverVersion

DRIVERS = sorted({DriverVersion(branch, minor) for branch in driver_branches() for minor in (10, 99)})


def verdict(**case: str) -> Verdict:
    return check(case_from(case), with_remedy=False).verdict


@pytest.mark.parametrize(
    ("case", "runs"),
    [
        # https://github.com/HandBrake/HandBrake/issues/5641
        ({"framework": "HandBrake", "framework_version": "1.7.2", "driver": "528.02", "os": "windows"}, False),
        # https://github.com/GyanD/codexffmpeg/issues/161
        ({"framework": "ffmpeg", "framework_version": "6.1.1", "build": "gyan.dev", "driver": "531.61", "os": "windows"}, True),  # noqa: E501
        # https://github.com/jvdillon/netv/issues/42
        ({"image": "ghcr.io/jvdillon/netv:2026", "build": "FFmpeg, NVENC API 13.0", "driver": "550.163.01"}, False),
        ({"framework": "ffmpeg", "build": "nv-codec-headers n12.2.72.0", "driver": "550.163.01"}, True),
        ({"framework": "ffmpeg", "build": "ffnvcodec 12.2", "driver": "535.183.01"}, False),
        ({"framework": "Video Codec SDK", "framework_version": "12.1.14", "driver": "535.183.01"}, True),
    ],
)  # fmt: skip
def test_an_encoder_runs_if_the_driver_has_its_api(case: dict[str, str], runs: bool) -> None:
    assert verdict(gpu="GTX 1080 Ti", **case).runs is runs


def test_an_error_of_ffmpeg_names_the_api_that_it_asks_for() -> None:
    error = "Driver does not support the required nvenc API version. Required: 13.0 Found: 12.2"
    assert (
        verdict(gpu="GTX 950", driver="566.36", os="windows", framework="ffmpeg", build=error) is Verdict.INCOMPATIBLE
    )


def test_a_program_for_video_whose_api_nobody_says_is_open() -> None:
    assert verdict(gpu="T4", driver="535.104.05", framework="obs studio", framework_version="30.0") is Verdict.UNKNOWN


@pytest.mark.parametrize("gpu", ["A100", "A30", "H100"])
@pytest.mark.parametrize("build", ["-c:v h264_nvenc", "NVENC API 11.1"])
def test_what_encodes_is_refused_on_gpus_without_an_encoder(gpu: str, build: str) -> None:
    fields = {"driver": "580.95.05", "cuda": "12.4", "build": build}
    assert verdict(gpu=gpu, **fields) is Verdict.INCOMPATIBLE
    assert verdict(gpu="L4", **fields).runs


def test_the_cuda_of_a_driver_says_nothing_of_its_encoder() -> None:
    assert reaches(CudaVersion(12, 0), DriverVersion.parse("525.147.05"), Platform.LINUX)
    assert not verdict(gpu="T4", driver="525.147.05", cuda="12.0", build="nvenc 12.1").runs


def test_a_newer_api_never_asks_for_an_older_driver() -> None:
    for older, newer in pairwise(nvencs()):
        assert older.linux_floor < newer.linux_floor
        assert older.windows_floor < newer.windows_floor


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(nvencs()), st.sampled_from(DRIVERS), st.sampled_from(["linux", "windows"]))
def test_an_api_runs_on_exactly_the_drivers_from_its_own_on(row: Nvenc, driver: DriverVersion, system: str) -> None:
    floor = row.windows_floor if system == "windows" else row.linux_floor
    fields = {"driver": str(driver), "os": system, "framework": "ffmpeg", "build": f"nvenc {row.api}"}
    findings = check(case_from({"gpu": "T4", **fields}), with_remedy=False).findings
    refused = any(each.rule == "R-NVENC" and each.severity in {"refuse", "warn"} for each in findings)
    assert refused is (driver < floor)


def test_a_number_that_is_none_of_the_api_is_one_of_the_program_of_that_name() -> None:
    fields = {"gpu": "GTX 1050 Ti", "os": "windows", "framework": "NVEnc"}
    assert verdict(**fields, framework_version="7.49", driver="531.61").runs
    assert verdict(**fields, framework_version="6.02", driver="417.35") is Verdict.INCOMPATIBLE
    assert verdict(**fields, framework_version="12.1", driver="531.18") is Verdict.INCOMPATIBLE  # the API itself


@pytest.mark.parametrize("gpu", ["GT 1030", "GeForce MX250", "GeForce 930MX", "GeForce MX450"])
def test_some_small_chips_have_no_encoder(gpu: str) -> None:
    fields = {"gpu": gpu, "driver": "535.183.01", "framework": "ffmpeg", "framework_version": "6.0", "build": "nvenc"}
    assert check(case_from(fields)).verdict is Verdict.INCOMPATIBLE


@pytest.mark.parametrize("build", ["av1_nvenc", "AV1 NVENC", "NVENC, AV1", "encoding to AV1 by NVENC"])
def test_av1_is_encoded_from_ada_on(build: str) -> None:
    fields = {"driver": "570.124.06", "framework": "ffmpeg", "framework_version": "7.0", "build": build}
    assert check(case_from({**fields, "gpu": "RTX 3070"})).verdict is Verdict.INCOMPATIBLE
    assert check(case_from({**fields, "gpu": "RTX 4070"})).verdict.runs
