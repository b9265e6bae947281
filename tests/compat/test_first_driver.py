"""Boards that are younger than their driver: refused, unless the driver knows another board of their chip."""

from __future__ import annotations

import pytest

from compat import Severity, Verdict, case_from, check
from compat.facts.tables import gpu_models

WARNS, NOT = Verdict.WITH_WARNING, Verdict.INCOMPATIBLE


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
    answer = check(case_from({"gpu": gpu, "driver": driver, "cuda": cuda}))
    assert answer.verdict is verdict
    assert answer.findings[0].rule == "R-DROP"
    assert answer.findings[0].severity is (Severity.WARN if verdict is WARNS else Severity.REFUSE)


def test_a_branch_is_open_where_the_chip_came_in_the_middle_of_it() -> None:
    answer = check(case_from({"gpu": "GTX 1080 Ti", "driver": "367", "cuda": "8.0"}))
    assert answer.verdict is Verdict.UNKNOWN
    assert "runs on 367." in answer.findings[0].message


def test_a_chip_is_one_of_the_architecture_of_its_model() -> None:
    letters = {"GF": "fermi", "GK": "kepler", "GM": "maxwell", "GP": "pascal", "GV": "volta", "TU": "turing"}
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
    answer = check(case_from({"gpu": gpu, "driver": driver, "cuda": cuda}))
    assert answer.verdict is verdict, answer.findings
    (finding,) = (each for each in answer.findings if each.rule == "R-VIS")
    assert ("does not support MIG on" in finding.message) is (verdict is NOT or verdict is WARNS)
    assert "mig-user-guide" in finding.fact.source
