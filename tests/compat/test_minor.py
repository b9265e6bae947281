"""R-MINOR: programs that run on a driver older than their toolkit, and those that only seem to."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compat import Case, Severity, Verdict, check

CUDA_12_4 = "550.54.14"  # comes with CUDA 12.4
OLDER = "535.183.01"  # CUDA 12.2


def _of_minor(case: Case) -> list[tuple[Severity, str]]:
    return [(each.severity, each.message) for each in check(case).findings if each.rule == "R-MINOR"]


@pytest.mark.parametrize("framework", ["", "llama.cpp", "my-solver"])
def test_an_own_build_on_an_older_driver_is_a_warning_that_names_cubin_and_ptx(framework: str) -> None:
    case = Case(gpu="A100", driver=OLDER, cuda="12.4", framework=framework)
    assert check(case).verdict is Verdict.WITH_WARNING
    ((severity, message),) = _of_minor(case)
    assert severity is Severity.WARN
    assert "machine code for NVIDIA A100" in message
    assert f"PTX of CUDA 12.4, it needs driver {CUDA_12_4}" in message


@pytest.mark.parametrize(
    "case",
    [
        Case(gpu="A100", driver=OLDER, cuda="12.4", sm_list="8.0"),
        Case(gpu="A100", driver=OLDER, framework="torch", framework_version="2.6.0+cu124"),
        Case(gpu="A100", driver=CUDA_12_4, cuda="12.4"),
        Case(gpu="A100", driver=OLDER, cuda="12.2"),
    ],
)
def test_known_machine_code_or_a_driver_of_the_toolkits_level_is_no_warning(case: Case) -> None:
    assert check(case).verdict is Verdict.COMPATIBLE
    assert [severity for severity, _ in _of_minor(case)] in ([], [Severity.NOTE])


@pytest.mark.parametrize("framework", ["hashcat", "numba"])
def test_a_program_whose_ptx_the_driver_compiles_needs_a_driver_of_that_level(framework: str) -> None:
    answer = check(Case(gpu="RTX 3090", driver=OLDER, cuda="12.4", framework=framework))
    assert answer.verdict is Verdict.INCOMPATIBLE
    (refused,) = [each for each in answer.findings if each.severity is Severity.REFUSE]
    assert refused.rule == "R-MINOR"
    assert f"PTX of CUDA 12.4 needs driver {CUDA_12_4} or newer; this one is {OLDER}" in refused.message
    assert check(Case(gpu="RTX 3090", driver=CUDA_12_4, cuda="12.4", framework=framework)).verdict.runs


def test_numba_may_link_by_itself_where_the_environment_says_so() -> None:
    env = "NUMBA_CUDA_ENABLE_MINOR_VERSION_COMPATIBILITY=1"
    assert check(Case(gpu="RTX 3090", driver=OLDER, cuda="12.4", framework="numba", env=env)).verdict.runs
    off = env.replace("=1", "=0")
    assert not check(Case(gpu="RTX 3090", driver=OLDER, cuda="12.4", framework="numba", env=off)).verdict.runs


@pytest.mark.parametrize(
    ("cuda", "driver", "expected"),
    [
        # https://github.com/hojae-io/ModelBasedFootstepPlanning-IROS2024/issues/2
        ("12.1", "525.60.11", Verdict.WITH_WARNING),
        ("12.6", "525.53", Verdict.WITH_WARNING),
        ("12.6", "525.60.13", Verdict.COMPATIBLE),
        ("12.1", "520.61.05", Verdict.INCOMPATIBLE),
        ("11.8", "450.51.06", Verdict.INCOMPATIBLE),  # has not what minor-version compatibility asks for
        ("13.1", "575.64.03", Verdict.INCOMPATIBLE),
    ],
)
def test_an_older_release_of_the_branch_that_a_major_came_with_reports_it_too(
    cuda: str, driver: str, expected: Verdict
) -> None:
    assert check(Case(gpu="A100", driver=driver, cuda=cuda, sm_list="8.0")).verdict is expected


def test_a_build_of_ptx_alone_needs_a_driver_of_its_level() -> None:
    case = Case(gpu="RTX 4070", cuda="12.5", framework="my-renderer", build="ptx only", ptx="8.0")
    assert check(replace(case, driver="550.90.07")).verdict is Verdict.INCOMPATIBLE
    assert check(replace(case, driver="555.42.06")).verdict.runs
    assert check(replace(case, driver="550.90.07", build="sm_89;9.0+PTX", ptx="")).verdict.runs


@pytest.mark.parametrize(
    ("gpu", "driver", "targets", "ptx", "needed"),
    [
        ("T4", "418.88", "sm_75;sm_100;sm_120", "none", "525.60.13"),
        ("T4", "525.60.13", "sm_75;sm_100;sm_120", "none", ""),
        ("T4", "418.88", "sm_75", "none", ""),
        ("T4", "390.30", "sm_75", "none", "410.48"),
        ("T4", "418.88", "sm_75", "12.0", "525.60.13"),
        ("V100", "440.33.01", "sm_70;sm_80", "none", "450.80.02"),
        ("RTX 3090", "470.57.02", "sm_86;sm_89", "none", ""),
        ("RTX 4090", "525.60.13", "sm_89;sm_110", "none", "580.65.06"),
    ],
)
def test_code_without_a_cuda_needs_the_driver_of_the_oldest_that_can_have_made_it(
    gpu: str, driver: str, targets: str, ptx: str, needed: str
) -> None:
    answer = check(Case(gpu=gpu, driver=driver, sm_list=targets, ptx=ptx))
    told = [each for each in answer.findings if each.rule == "R-MINOR"]
    assert [f"need driver {needed} or newer" in each.message for each in told] == ([True] if needed else [])
    assert (answer.verdict is Verdict.INCOMPATIBLE) is bool(needed)


@pytest.mark.parametrize(
    ("gpu", "driver", "targets", "compat", "verdict"),
    [
        ("H100", "535.230.02", "9.0;11.0", "yes", Verdict.COMPATIBLE),
        ("V100", "418.226.00", "7.0;8.0", "yes", Verdict.COMPATIBLE),
        ("V100", "418.226.00", "7.0;8.0", "unknown", Verdict.UNKNOWN),
        ("V100", "418.226.00", "7.0;8.0", "no", Verdict.INCOMPATIBLE),
        ("RTX 2080 Ti", "418.88", "7.5;8.0", "yes", Verdict.INCOMPATIBLE),
    ],
)
def test_a_compat_package_serves_code_without_a_cuda_as_it_serves_the_cuda_that_made_it(
    gpu: str, driver: str, targets: str, compat: str, verdict: Verdict
) -> None:
    case = Case(gpu=gpu, driver=driver, sm_list=targets, ptx="none", cuda_compat=compat)
    assert check(case).verdict is verdict


def test_the_way_out_leaves_out_what_its_cuda_does_not_know() -> None:
    remedy = check(Case(gpu="T4", driver="418.88", sm_list="sm_75;sm_100;sm_120", ptx="none")).remedy
    assert remedy is not None
    assert remedy.text.startswith("Build it without sm_100, sm_120, with CUDA 10.1")
    assert {each.field: each.to for each in remedy.changes}["sm_list"] == "7.5"
