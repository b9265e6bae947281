"""The last driver for a GPU: by board, by platform, and in remedies."""

from __future__ import annotations

import re

import pytest

from compat import Answer, Severity, Verdict, case_from, check
from compat.facts.lookup import facts

RUNS, NOT = Verdict.COMPATIBLE, Verdict.INCOMPATIBLE


def _check(**case: str) -> Answer:
    return check(case_from(case))


def _text(answer: Answer) -> str:
    return "; ".join(f"{each.rule} {each.severity}: {each.message}" for each in answer.findings)


@pytest.mark.parametrize("gpu", ["GRID K1", "GRID K2", "GRID K340"])
@pytest.mark.parametrize(
    ("driver", "verdict"), [("367.134", RUNS), ("367", RUNS), ("375.66", NOT), ("470.82.01", NOT), ("470", NOT)]
)
def test_a_board_may_be_dropped_before_its_architecture(gpu: str, driver: str, verdict: Verdict) -> None:
    answer = _check(gpu=gpu, driver=driver, cuda="7.5", sm_list="3.0")
    assert answer.verdict is verdict, _text(answer)
    if verdict is NOT:
        (finding,) = (each for each in answer.findings if each.severity is Severity.REFUSE)
        assert (finding.rule, finding.fact.text) == ("R-DROP", f"the last driver branch for {gpu} is 367")
        assert finding.fact.source == facts("gpu_model", model=gpu)[0]["source"]
        assert answer.remedy is not None
        assert answer.remedy.text == f"Use driver 367.x, the last branch for {gpu}."
        assert [(change.field, change.to) for change in answer.remedy.changes] == [("driver", "367")]


def test_another_board_of_the_same_architecture_is_driven_to_the_end_of_it() -> None:
    assert _check(gpu="GRID K520", driver="470.82.01", cuda="7.5", sm_list="3.0").verdict is RUNS
    answer = _check(gpu="GRID K520", driver="495.29.05", cuda="7.5", sm_list="3.0")
    assert "the last driver branch for Kepler (3.0) is 470" in _text(answer)


@pytest.mark.parametrize(("gpu", "last"), [("GRID K2", 367), ("GRID K520", 470)])
def test_a_driver_that_nobody_says_is_one_of_those_up_to_the_last_branch_of_the_board(gpu: str, last: int) -> None:
    answer = _check(gpu=gpu, cuda="8.0", sm_list="3.0;7.0")
    assert answer.verdict is Verdict.UNKNOWN
    assert f"(runs on 367.48 to branch {last})" in _text(answer)


def test_where_every_driver_of_a_board_runs_it_none_has_to_be_stated_and_the_answer_says_for_which_it_holds() -> None:
    answer = _check(gpu="V100", cuda="8.0", sm_list="3.0;7.0")  # which only drivers newer than that of CUDA 8.0 drive
    assert answer.verdict is RUNS
    assert re.search(
        r"no driver is stated: it runs on every driver for .*V100.*, from 3\d\d\.\d+ to branch 580", _text(answer)
    )
    assert "to branch" not in _text(_check(gpu="RTX 2080 Ti", cuda="9.2", sm_list="7.0"))


@pytest.mark.parametrize(
    ("system", "driver", "verdict"),
    [
        ("windows", "470.05", RUNS),
        ("windows", "472.12", RUNS),
        ("windows", "474.30", RUNS),
        ("windows", "470", RUNS),
        ("windows", "496.13", NOT),
        ("linux", "470.82.01", RUNS),
        ("linux", "471.11", NOT),
    ],
)
def test_windows_counts_on_inside_the_last_branch(system: str, driver: str, verdict: Verdict) -> None:
    answer = _check(gpu="GTX 780", driver=driver, os=system, cuda="10.2", sm_list="3.5")
    assert answer.verdict is verdict, _text(answer)


def test_a_remedy_on_windows_names_the_branch_and_no_number_that_no_driver_has() -> None:
    case = {"gpu": "GTX 780", "os": "windows", "cuda": "10.2", "sm_list": "3.5"}
    answer = _check(**case, driver="496.13")
    assert answer.remedy is not None
    assert answer.remedy.text == "Use driver 470.x, the last branch for GeForce GTX 780."
    assert _check(**case, driver=answer.remedy.changes[0].to).verdict is RUNS
    newer = _check(**case | {"cuda": "11.4"}, driver="496.13")  # which starts inside R470, with 471.11
    assert newer.remedy is not None
    assert _check(**case | {"cuda": "11.4"}, driver=newer.remedy.changes[0].to).verdict.runs


def test_a_driver_that_nobody_says_on_windows_is_of_a_named_branch() -> None:
    answer = _check(gpu="GTX 780", os="windows", cuda="10.2", sm_list="3.5")
    assert "to branch 470)" in _text(answer)


def test_what_must_be_built_anew_is_built_for_the_last_branch_of_the_board() -> None:
    case = {"gpu": "GRID K2", "sm_list": "5.0", "ptx": "none"}
    dropped = _check(**case, driver="470.82.01", cuda="10.2")
    assert dropped.remedy is not None
    assert dropped.remedy.text == "Build it for sm_30 (GRID K2), with CUDA 8.0 on driver 367.x, the last branch for it."
    driven = _check(**case, driver="367.134", cuda="10.2")
    assert driven.remedy is not None
    assert "last branch" not in driven.remedy.text


def test_another_line_for_a_dropped_board_comes_with_the_drivers_that_it_has() -> None:
    answer = _check(gpu="GRID K2", driver="470.82.01", cuda="10.2")
    assert answer.remedy is not None
    assert answer.remedy.text == "Use CUDA 8.0 on driver 367.48 or newer up to branch 367."


@pytest.mark.parametrize(
    ("gpu", "driver", "operator", "drops"),
    [
        ("GRID K2", "367.134", "1.0.0", True),  # installs 440.33.01
        ("GRID K520", "367.134", "1.0.0", False),
        ("V100", "580.95.05", "v26.7.0", True),
        ("T4", "580.95.05", "v26.7.0", False),
    ],
)
def test_the_default_driver_of_the_operator_may_drop_a_board(
    gpu: str, driver: str, operator: str, *, drops: bool
) -> None:
    answer = _check(gpu=gpu, driver=driver, operator=operator, cuda="7.5", host="kubernetes")
    assert ("keep driver.version pinned to" in _text(answer)) is drops


@pytest.mark.parametrize(
    ("system", "driver", "clause", "starts"),
    [
        ({"host": "wsl"}, "566.14", "cuda>=12.7", True),  # R565, for whose CUDA there is no toolkit
        ({"host": "wsl"}, "566.14", "cuda>=12.8", False),
        ({"host": "wsl"}, "531.79", "cuda>=12.1", True),  # R530
        ({"host": "docker"}, "565.77", "cuda>=12.7", True),
        ({"host": "docker"}, "531.79", "cuda>=12.2", False),
    ],
)
def test_a_requirement_is_read_with_the_cuda_of_the_drivers_own_platform(
    system: dict[str, str], driver: str, clause: str, *, starts: bool
) -> None:
    case = {"gpu": "RTX 3060", "driver": driver, "cuda": "12.0", "container_toolkit": "1.17.3", **system}
    answer = _check(**case, env=f"NVIDIA_REQUIRE_CUDA={clause}")
    refuses = any(each.rule == "R-REQ" and each.severity is Severity.REFUSE for each in answer.findings)
    assert refuses is not starts, _text(answer)


@pytest.mark.parametrize(("driver", "verdict"), [("450", RUNS), ("451", Verdict.UNKNOWN), ("448", NOT)])
def test_a_bare_branch_on_windows_is_all_that_counts_to_it(driver: str, verdict: Verdict) -> None:
    """R450 is 451 and 452 there, and CUDA 11.0 came with 451.22."""
    answer = _check(gpu="RTX 2080", driver=driver, os="windows", cuda="11.0", sm_list="7.5")
    assert answer.verdict is verdict, _text(answer)
