"""R-KMOD: which flavour of the driver's kernel modules drives a GPU."""

from __future__ import annotations

import pytest

from compat import Case, Severity, Verdict, check

OPT_IN = "NVreg_OpenRmEnableUnsupportedGpus=1"


def _findings(gpu: str, driver: str, module: str = "open") -> list[tuple[Severity, str]]:
    answer = check(Case(gpu=gpu, driver=driver, cuda="11.8", kernel_module=module))
    return [(each.severity, each.message) for each in answer.findings if each.rule == "R-KMOD"]


@pytest.mark.parametrize("gpu", ["RTX 2080 Ti", "GeForce RTX 3090", "RTX A6000"])
@pytest.mark.parametrize("driver", ["515.43.04", "535.183.01", "545.22.99"])
def test_open_modules_before_545_need_an_opt_in_for_cards_outside_the_data_centre(gpu: str, driver: str) -> None:
    ((severity, message),) = _findings(gpu, driver)
    assert severity is Severity.WARN
    assert OPT_IN in message
    assert "545.23.06" in message


@pytest.mark.parametrize(
    ("gpu", "driver", "module"),
    [
        ("RTX 2080 Ti", "545.23.06", "open"),
        ("RTX 2080 Ti", "550.54.14", "open"),
        ("RTX 2080 Ti", "535.183.01", "proprietary"),
        ("RTX 2080 Ti", "535.183.01", ""),
        ("A100", "515.65.01", "open"),
        ("Tesla T4", "535.183.01", "open"),
    ],
)
def test_no_opt_in_is_required_where_none_is_needed(gpu: str, driver: str, module: str) -> None:
    assert _findings(gpu, driver, module) == []


def test_an_opt_in_is_a_warning_and_not_a_refusal() -> None:
    answer = check(Case(gpu="RTX 3090", driver="535.183.01", cuda="11.8", kernel_module="open"))
    assert answer.verdict is Verdict.WITH_WARNING
