"""R-MINOR: what runs on a driver older than its toolkit, and what only looks as if it did."""

from __future__ import annotations

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
