"""Programs whose CUDA is not known: what GPU and driver still decide."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compat import Answer, Severity, Verdict, case_from, check
from compat.evidence.drivers import reaches
from compat.facts.tables import architectures, driver_branches
from compat.values.hosts import Platform
from compat.values.versions import TEGRA, ComputeCapability, CudaVersion, DriverVersion

NOT, OPEN = Verdict.INCOMPATIBLE, Verdict.UNKNOWN
BRANCHES = sorted(driver_branches())


def answer(**case: str) -> Answer:
    return check(case_from({"framework": "no-such-program", "framework_version": "1.4.2"} | case))


@pytest.mark.parametrize("where", [{}, {"image": "ghcr.io/some-one/no-such-program:1.4.2", "host": "docker"}])
@pytest.mark.parametrize(
    ("gpu", "driver", "expected"),
    [
        ("RTX 3070 Ti", "565.77", "runs"),
        ("T4", "550.54.14", "runs"),
        ("H100", "580.95.05", "runs"),
        ("RTX 3070 Ti", "535.183.01", OPEN),  # CUDA 12.4 and its PTX are newer
        ("GTX 1080", "580.95.05", OPEN),  # CUDA 13 has no code for it
        ("RTX 5080", "580.95.05", OPEN),  # nor CUDA before 12.8
        ("RTX 3070 Ti", "", OPEN),
        ("Tesla K80", "", NOT),
        ("GTX 580", "", NOT),
        ("Tesla K80", "470.256.02", OPEN),  # who names such a driver may have such a program
        ("GTX 960", "", OPEN),
    ],
)
def test_gpu_and_driver_decide_where_any_build_of_today_would_agree(
    gpu: str, driver: str, expected: str, where: dict[str, str]
) -> None:
    found = answer(gpu=gpu, **({"driver": driver} if driver else {}), **where)
    assert found.verdict is Verdict.WITH_WARNING if expected == "runs" else found.verdict is expected
    finding = next(each for each in found.findings if "it is not known which CUDA" in each.message)
    assert finding.rule == "R-FRAMEWORK"
    assert (finding.severity is Severity.UNKNOWN) is (expected is OPEN)


@pytest.mark.parametrize(
    "case",
    [
        {"framework": "numba", "build": "conda-forge"},  # the driver compiles its PTX
        {"build": "kernels as PTX"},
        {"framework": "", "framework_version": "", "image": "ghcr.io/some-one/something:1.4.2"},  # no program is named
        {"cpu_arch": "arm64"},
    ],
)
def test_what_depends_on_more_than_the_cuda_stays_open(case: dict[str, str]) -> None:
    assert answer(gpu="L40S", driver="580.95.05", **case).verdict is OPEN


def test_a_release_of_an_old_gpus_own_time_is_not_refused() -> None:
    assert answer(gpu="Tesla K40m", build="release of 2016").verdict is OPEN
    assert answer(gpu="Tesla K40m", build="release of 2025").verdict is NOT


def test_the_text_on_the_build_counts_before_it() -> None:
    assert answer(gpu="RTX 4070", driver="580.95.05", build="no code for sm_89").verdict is NOT
    assert answer(gpu="RTX 4070", driver="580.95.05", cuda="13.3", build="wheel").verdict.runs


@settings(max_examples=80, deadline=None)
@given(st.sampled_from(sorted({*architectures()} - TEGRA)), st.sampled_from(BRANCHES), st.sampled_from(BRANCHES))
def test_what_is_likely_on_a_driver_is_on_every_newer_one(gpu: ComputeCapability, one: int, other: int) -> None:
    def runs(branch: int) -> bool:
        driver = str(DriverVersion(branch, 200))
        return answer(compute_capability=str(gpu), driver=driver).verdict.runs

    older, newer = sorted((one, other))
    if runs(older):
        assert reaches(CudaVersion(12, 4), DriverVersion(older, 200), Platform.LINUX)
        assert runs(newer)


def test_on_a_server_of_arm64_only_what_somebody_built_there_is_likely_to_run() -> None:
    case = {"gpu": "GH200 480GB", "driver": "565.57.01", "framework": "stellar-solver", "cpu_arch": "arm64"}
    assert check(case_from(case | {"build": "from source"})).verdict is Verdict.WITH_WARNING
    assert check(case_from(case)).verdict is Verdict.UNKNOWN
