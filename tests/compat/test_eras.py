"""The month of a program limits the CUDA that may have built it: what all toolkits in use then agree on holds."""

from __future__ import annotations

import pytest
from compat.evidence.prose.eras import era_of, made_by_all, made_by_none, runs_all, runs_none
from hypothesis import given
from hypothesis import strategies as st

from compat import Verdict, case_from, check
from compat.facts.tables import architectures, driver_branches
from compat.values.hosts import Platform
from compat.values.versions import DriverVersion

MONTHS = st.builds("{}-{:02}".format, st.integers(2016, 2026), st.integers(1, 12))
PLATFORMS = st.sampled_from([Platform.LINUX, Platform.WINDOWS])


def _verdict(**case: str) -> Verdict:
    return check(case_from({"framework": "stellar-solver", "host": "bare"} | case)).verdict


@pytest.mark.parametrize(
    ("gpu", "driver", "build", "verdict"),
    [
        ("RTX 2080", "460.32.03", "release of March 2021", Verdict.WITH_WARNING),
        ("RTX 2080", "384.130", "release of March 2021", Verdict.INCOMPATIBLE),  # older than all of CUDA 10
        ("RTX 2080", "430.50", "release of March 2021", Verdict.UNKNOWN),  # runs some of them
        ("V100", "535.183.01", "January 2024", Verdict.WITH_WARNING),
        ("Tesla P100", "390.116", "Windows release of June 2018", Verdict.UNKNOWN),  # 9.2 had just come
        ("GTX 580", "390.157", "release of June 2021", Verdict.INCOMPATIBLE),  # no toolkit then knew Fermi
        ("RTX 4090", "525.60.13", "release of February 2022", Verdict.UNKNOWN),  # no toolkit then knew Ada: PTX or none
    ],
)
def test_what_all_toolkits_of_its_time_agree_on_holds_for_a_program(
    gpu: str, driver: str, build: str, verdict: Verdict
) -> None:
    assert _verdict(gpu=gpu, driver=driver, build=build) is verdict


def test_a_driver_needs_not_be_stated_where_no_toolkit_of_the_time_knew_the_gpu() -> None:
    assert _verdict(gpu="Tesla M2090", build="release of May 2022") is Verdict.INCOMPATIBLE
    assert _verdict(gpu="Tesla K80", build="release of May 2017") is Verdict.UNKNOWN


def test_what_hands_ptx_to_the_driver_is_not_judged_by_the_floors_of_a_major() -> None:
    fields = {"gpu": "RTX 3090", "driver": "525.60.13", "build": "January 2024"}
    assert _verdict(**fields) is Verdict.WITH_WARNING
    assert _verdict(**fields | {"build": "January 2024, kernels are PTX"}) is not Verdict.WITH_WARNING


@given(MONTHS, MONTHS)
def test_a_later_era_begins_and_ends_no_earlier(one: str, other: str) -> None:
    first, last = (era_of(month) for month in sorted((one, other)))
    assert first is not None
    assert last is not None
    assert first.lines[0] <= last.lines[0]
    assert first.lines[-1] <= last.lines[-1]
    assert list(first.lines) == sorted(first.lines)
    assert first.lines[0] <= first.settled <= first.lines[-1]


@given(MONTHS, PLATFORMS, st.sampled_from(sorted(driver_branches())), st.sampled_from(sorted(driver_branches())))
def test_what_a_driver_runs_of_an_era_a_newer_one_runs_too(
    month: str, platform: Platform, one: int, other: int
) -> None:
    era = era_of(month)
    assert era is not None
    older, newer = (DriverVersion.end_of(branch) for branch in sorted((one, other)))
    assert not (runs_all(era, older, platform) and not runs_all(era, newer, platform))
    assert not (runs_none(era, newer, platform) and not runs_none(era, older, platform))
    assert not (runs_all(era, older, platform) and runs_none(era, older, platform))


@given(MONTHS, st.sampled_from(sorted(architectures())))
def test_a_gpu_is_not_known_to_all_and_to_none(month: str, capability: object) -> None:
    era, arch = era_of(month), next(row for key, row in architectures().items() if key == capability)
    assert era is not None
    assert not (made_by_all(era, arch) and made_by_none(era, arch))


def test_before_the_tables_begin_there_is_no_era() -> None:
    assert era_of("2012-01") is None
