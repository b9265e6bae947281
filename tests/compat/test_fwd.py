"""R-FWD and R-COMPATHOOK: compat packages on host branches that no list names, and images that force theirs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from compat import Case, Severity, Verdict, check

PATH = "LD_LIBRARY_PATH=/usr/local/cuda/compat:/opt/lib"
SWITCH = "VLLM_ENABLE_CUDA_COMPATIBILITY"
GEFORCE = Case(gpu="RTX 3090", driver="535.183.01", cuda="12.4", cuda_compat="yes", sm_list="8.6")


def _refused(case: Case, rule: str) -> str:
    return " ".join(
        each.message for each in check(case).findings if each.rule == rule and each.severity is Severity.REFUSE
    )


@pytest.mark.parametrize(("driver", "cuda"), [("550.144.03", "13.0"), ("575.57.08", "13.0"), ("545.23.08", "12.4")])
def test_a_host_branch_that_no_list_names_but_is_newer_than_a_listed_one_is_a_warning(driver: str, cuda: str) -> None:
    answer = check(Case(gpu="A100", driver=driver, cuda=cuda, cuda_compat="yes", sm_list="8.0"))
    assert answer.verdict.runs
    if cuda == "13.0":
        assert answer.verdict is Verdict.WITH_WARNING
        (warned,) = (each for each in answer.findings if each.severity is Severity.WARN)
        assert "NVIDIA supports it on host branches 535, 570 only" in warned.message


@pytest.mark.parametrize("driver", ["525.147.05", "470.256.02"])
def test_a_host_branch_older_than_all_listed_ones_is_refused(driver: str) -> None:
    assert _refused(Case(gpu="A100", driver=driver, cuda="13.0", cuda_compat="yes", sm_list="8.0"), "R-FWD")


@pytest.mark.parametrize("host", ["", "bare", "docker", "kubernetes"])
@pytest.mark.parametrize("env", [PATH, f"{SWITCH}=1"])
def test_a_geforce_fails_under_an_image_that_puts_its_newer_package_first(env: str, host: str) -> None:
    assert check(replace(GEFORCE, host="bare")).verdict.runs
    message = _refused(replace(GEFORCE, env=env, host=host), "R-COMPATHOOK")
    assert "error 804" in message
    assert "cuda-compat-12-4" in message


def test_what_an_image_forces_is_undone_by_the_variable_that_did_it() -> None:
    (change,) = check(replace(GEFORCE, env=f"{SWITCH}=1", host="bare")).remedy.changes  # type: ignore[union-attr]
    assert (change.field, change.to) == ("env", f"{SWITCH}=0")
    (change,) = check(replace(GEFORCE, env=PATH, host="bare")).remedy.changes  # type: ignore[union-attr]
    assert (change.field, change.to) == ("env", "LD_LIBRARY_PATH=/opt/lib")


def test_a_switch_that_is_off_forces_nothing() -> None:
    assert check(replace(GEFORCE, env=f"{SWITCH}=0", host="bare")).verdict.runs


def test_a_data_centre_gpu_on_a_listed_branch_runs_with_the_package_first() -> None:
    case = Case(gpu="A100", driver="535.183.01", cuda="12.4", cuda_compat="yes", sm_list="8.0", env=PATH)
    assert check(case).verdict.runs


@pytest.mark.parametrize("forced", [{"env": PATH}, {"env": f"{SWITCH}=1"}, {"cuda_compat": "first"}])
def test_a_package_that_the_image_puts_first_needs_no_container_toolkit_to_load_it(forced: dict[str, str]) -> None:
    case = Case(
        gpu="A100", driver="535.183.01", cuda="13.0", cuda_compat="yes", sm_list="8.0", host="docker",
        container_toolkit="1.17.4",
    )  # fmt: skip
    assert "1.17.4 does not load" in _refused(case, "R-COMPATHOOK")
    assert check(replace(case, **forced)).verdict.runs


def test_a_loader_that_searches_the_package_first_warns_where_the_driver_is_newer() -> None:
    case = Case(gpu="A100", driver="580.65.06", cuda="12.4", cuda_compat="first", sm_list="8.0")
    assert check(replace(case, cuda_compat="yes")).verdict is not Verdict.WITH_WARNING
    assert check(case).verdict is Verdict.WITH_WARNING
