"""R-DROP: the first and the last driver for a GPU, by board and by chip, and in remedies."""

from __future__ import annotations

import re

import pytest
from known import checked, told

from compat import Severity, Verdict
from compat.facts.lookup import facts
from compat.facts.tables import gpu_models

RUNS, WARNS, NOT = Verdict.COMPATIBLE, Verdict.WITH_WARNING, Verdict.INCOMPATIBLE


@pytest.mark.parametrize("gpu", ["GRID K1", "GRID K2", "GRID K340"])
@pytest.mark.parametrize(
    ("driver", "verdict"), [("367.134", RUNS), ("367", RUNS), ("375.66", NOT), ("470.82.01", NOT), ("470", NOT)]
)
def test_a_board_may_be_dropped_before_its_architecture(gpu: str, driver: str, verdict: Verdict) -> None:
    answer = checked(gpu=gpu, driver=driver, cuda="7.5", sm_list="3.0")
    assert answer.verdict is verdict, told(answer)
    if verdict is NOT:
        (finding,) = (each for each in answer.findings if each.severity is Severity.REFUSE)
        assert (finding.rule, finding.fact.text) == ("R-DROP", f"the last driver branch for {gpu} is 367")
        assert finding.fact.source == facts("gpu_model", model=gpu)[0]["source"]
        assert answer.remedy is not None
        assert answer.remedy.text == f"Use driver 367.x, the last branch for {gpu}."
        assert [(change.field, change.to) for change in answer.remedy.changes] == [("driver", "367")]


def test_another_board_of_the_same_architecture_is_driven_to_the_end_of_it() -> None:
    assert checked(gpu="GRID K520", driver="470.82.01", cuda="7.5", sm_list="3.0").verdict is RUNS
    answer = checked(gpu="GRID K520", driver="495.29.05", cuda="7.5", sm_list="3.0")
    assert "the last driver branch for Kepler (3.0) is 470" in told(answer)


@pytest.mark.parametrize(("gpu", "last"), [("GRID K2", 367), ("GRID K520", 470)])
def test_a_driver_that_nobody_says_is_one_of_those_up_to_the_last_branch_of_the_board(gpu: str, last: int) -> None:
    answer = checked(gpu=gpu, cuda="8.0", sm_list="3.0;7.0")
    assert answer.verdict is Verdict.UNKNOWN
    assert f"(runs on 367.48 to branch {last})" in told(answer)


def test_where_every_driver_of_a_board_runs_it_none_has_to_be_stated_and_the_answer_says_for_which_it_holds() -> None:
    answer = checked(gpu="V100", cuda="8.0", sm_list="3.0;7.0")  # which only drivers newer than that of CUDA 8.0 drive
    assert answer.verdict is RUNS
    assert re.search(
        r"no driver is stated: it runs on every driver for .*V100.*, from 3\d\d\.\d+ to branch 580", told(answer)
    )
    assert "to branch" not in told(checked(gpu="RTX 2080 Ti", cuda="9.2", sm_list="7.0"))


def test_what_must_be_built_anew_is_built_for_the_last_branch_of_the_board() -> None:
    case = {"gpu": "GRID K2", "sm_list": "5.0", "ptx": "none"}
    dropped = checked(**case, driver="470.82.01", cuda="10.2")
    assert dropped.remedy is not None
    assert dropped.remedy.text == "Build it for sm_30 (GRID K2), with CUDA 8.0 on driver 367.x, the last branch for it."
    driven = checked(**case, driver="367.134", cuda="10.2")
    assert driven.remedy is not None
    assert "last branch" not in driven.remedy.text


def test_another_line_for_a_dropped_board_comes_with_the_drivers_that_it_has() -> None:
    answer = checked(gpu="GRID K2", driver="470.82.01", cuda="10.2")
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
    answer = checked(gpu=gpu, driver=driver, operator=operator, cuda="7.5", host="kubernetes")
    assert ("keep driver.version pinned to" in told(answer)) is drops


@pytest.mark.parametrize(
    ("driver", "clause", "starts"),
    [
        ("565.77", "cuda>=12.7", True),  # R565, for whose CUDA there is no toolkit
        ("530.41.03", "cuda>=12.2", False),
    ],
)
def test_a_requirement_is_read_with_the_cuda_of_the_driver(driver: str, clause: str, *, starts: bool) -> None:
    case = {"gpu": "RTX 3060", "driver": driver, "cuda": "12.0", "container_toolkit": "1.17.3", "host": "docker"}
    answer = checked(**case, env=f"NVIDIA_REQUIRE_CUDA={clause}")
    refuses = any(each.rule == "R-REQ" and each.severity is Severity.REFUSE for each in answer.findings)
    assert refuses is not starts, told(answer)


@pytest.mark.parametrize(
    ("gpu", "driver", "cuda", "verdict"),
    [
        ("GTX 1080 Ti", "375.39", "8.0", WARNS),  # GP102: the Quadro P6000 has it since 367.57
        ("GTX 1080 Ti", "367.44", "8.0", NOT),
        ("GeForce MX350", "440.44", "10.2", WARNS),  # GP107
        ("GeForce MX550", "470.94", "11.4", WARNS),  # TU117
        ("GTX 1650", "410.104", "10.0", NOT),  # it was the first board with TU117; others have older chips
        ("RTX 3060", "455.45.01", "11.1", NOT),  # GA106 is new, and GA104, which came later to that name, is not
        ("B200", "570.86.15", "12.8", NOT),
    ],
)
def test_a_board_that_a_driver_does_not_list_runs_by_its_chip(
    gpu: str, driver: str, cuda: str, verdict: Verdict
) -> None:
    answer = checked(gpu=gpu, driver=driver, cuda=cuda)
    assert answer.verdict is verdict
    assert answer.findings[0].rule == "R-DROP"
    assert answer.findings[0].severity is (Severity.WARN if verdict is WARNS else Severity.REFUSE)


def test_a_branch_is_open_where_the_chip_came_in_the_middle_of_it() -> None:
    answer = checked(gpu="GTX 1080 Ti", driver="367", cuda="8.0")
    assert answer.verdict is Verdict.UNKNOWN
    assert "runs on 367." in answer.findings[0].message


def test_a_chip_is_one_of_the_architecture_of_its_model() -> None:
    letters = {"GK": "kepler", "GM": "maxwell", "GP": "pascal", "GV": "volta", "TU": "turing"}
    letters |= {"GA": "ampere", "AD": "ada", "GH": "hopper", "GB": "blackwell"}
    models = [model for model in gpu_models() if model.chips]
    assert len(models) > 250
    for model in models:
        assert all(model.family.startswith(letters[chip[:2]]) for chip in model.chips), model.name


@pytest.mark.parametrize(
    ("gpu", "driver", "cuda", "verdict"),
    [
        ("A100-SXM4-40GB-MIG-1g.5gb", "450.51.06", "11.0", NOT),
        ("A100-SXM4-40GB-MIG-1g.5gb", "450.80.02", "11.0", Verdict.COMPATIBLE),
        ("A30 MIG 1g.6gb", "460.67", "11.2", NOT),
        ("H100 PCIe MIG 1g.10gb", "525.60.13", "12.0", NOT),
        ("H100 PCIe MIG 1g.10gb", "525.85.12", "12.0", Verdict.COMPATIBLE),
        ("H20-3e MIG 1g.18gb", "535.129.03", "12.2", WARNS),  # that the list means it too is not verified
        ("GH200 480GB MIG 1g.12gb", "535.104.05", "12.2", Verdict.COMPATIBLE),  # from which driver on, nobody lists
    ],
)
def test_a_gpu_is_cut_into_slices_from_a_driver_of_its_own_on(
    gpu: str, driver: str, cuda: str, verdict: Verdict
) -> None:
    answer = checked(gpu=gpu, driver=driver, cuda=cuda)
    assert answer.verdict is verdict, answer.findings
    (finding,) = (each for each in answer.findings if each.rule == "R-VIS")
    assert ("does not support MIG on" in finding.message) is (verdict is NOT or verdict is WARNS)
    assert "mig-user-guide" in finding.fact.source
