"""A remedy is a promise: with its changes the case runs."""

from __future__ import annotations

import re
from random import Random

import known
import pytest

from compat import Answer, Case, CaseError, Change, Remedy, Severity, Verdict, check
from compat.facts.tables import builds, driver_branches, frameworks, gpu_models, toolkits

SEED = 20261121


def _drawn(number: int) -> list[Case]:
    chance = Random(SEED)
    floors = sorted({str(each.floor) for each in toolkits() if each.floor})
    drivers = [*floors, *map(str, driver_branches()), ""]
    wheels = [build for framework in frameworks() for build in builds(framework)]
    found = []
    for _ in range(number):
        fields = {"gpu": chance.choice(gpu_models()).name, "driver": chance.choice(drivers)}
        fields["host"] = chance.choice(["", "docker", "kubernetes", "bare"])
        line, wheel = str(chance.choice(toolkits()).version), chance.choice(wheels)
        fields |= chance.choice(
            [
                {"cuda": line},
                {"image": f"nvidia/cuda:{line}-runtime-ubuntu20.04"},
                {"cuda": line, "sm_list": "6.0;7.0;8.0", "ptx": "none"},
                {"framework": wheel.framework, "framework_version": wheel.version, "build": wheel.variant},
                {"framework": wheel.framework, "framework_version": wheel.version},
            ]
        )
        found.append(Case(**fields))
    return found


def _ways(remedy: Remedy) -> list[tuple[Change, ...]]:
    return [changes for changes in (remedy.changes, *(way.changes for way in remedy.otherwise)) if changes]


@pytest.mark.slow
@pytest.mark.parametrize("cases", [known.reported(), _drawn(400)], ids=["reported", "drawn"])
def test_with_the_changes_of_any_way_the_case_runs(cases: list[Case]) -> None:
    tried, failed = 0, []
    for case in cases:
        try:
            answer = check(case)
        except CaseError:
            continue
        for changes in _ways(answer.remedy) if answer.remedy else []:
            after = check(case.with_changes(changes))
            tried += 1
            is_open = any(finding.severity is Severity.UNKNOWN for finding in answer.findings)
            if not after.verdict.runs and not (is_open and after.verdict is Verdict.UNKNOWN):
                failed.append(f"{case}\n{answer.remedy}\n{after}")
            for change in changes:
                assert change.from_ == getattr(case, change.field)
    assert tried > 150
    assert not failed, f"{len(failed)} of {tried}\n" + "\n\n".join(failed[:3])


def test_a_change_starts_from_what_the_case_says_where_that_cannot_be_read() -> None:
    case = Case(gpu="GTX 1080 Ti", driver="418.88", framework="jax", framework_version="current docs", cuda="12.4")
    remedy = check(case).remedy
    assert remedy is not None
    (version,) = [change for change in remedy.changes if change.field == "framework_version"]
    assert version.from_ == "current docs"


@pytest.mark.slow
def test_no_remedy_shows_a_driver_that_stands_for_something_else() -> None:
    for case in [*known.reported(), *_drawn(200)]:
        try:
            answer = check(case)
        except CaseError:
            continue
        shown = " ".join(
            [*(finding.message for finding in answer.findings), answer.remedy.text if answer.remedy else ""]
        )
        assert not re.search(r"(?<![.\d])\d{3}\.(999|9999|00)\b", shown), f"{case}\n{shown}"


def _text(**fields: str) -> str:
    answer: Answer = check(Case(**fields))
    assert answer.verdict is Verdict.INCOMPATIBLE
    assert answer.remedy is not None
    return answer.remedy.text


def test_an_old_driver_gets_the_nearest_cuda_line_and_the_lowest_driver() -> None:
    text = _text(gpu="GTX 1080 Ti", driver="418.88", image="nvidia/cuda:10.2-runtime-ubuntu18.04")
    assert "CUDA 10.1" in text
    assert "driver 440.33 or newer (branch 580 is the last that supports the GeForce GTX 1080 Ti)" in text


def test_a_wheel_gets_the_build_of_its_own_version_first() -> None:
    text = _text(gpu="RTX 2080 Ti", driver="418.88", framework="torch", framework_version="1.5.0")
    assert text.startswith("Use torch 1.5.0+cu101 (pip install torch==1.5.0+cu101 -f https://download.pytorch.org/")
    text = _text(gpu="RTX 3090", driver="470.57.02", framework="torch", framework_version="2.6.0+cu124")
    assert "pip install torch==2.6.0 --index-url https://download.pytorch.org/whl/cu118" in text


def test_a_gpu_that_was_dropped_gets_its_last_branch_and_nothing_newer() -> None:
    text = _text(gpu="V100-SXM2-16GB", driver="595.71.05", cuda="12.4")
    assert text == "Use driver 580.x, the last branch for Tesla V100-SXM2-16GB."
    text = _text(gpu="Tesla K80", driver="525.60.13", cuda="12.0")
    assert text == "Use CUDA 11.8 on driver 470.x, the last branch for Tesla K80."


def test_a_data_centre_gpu_on_a_listed_branch_may_take_a_compat_package() -> None:
    text = _text(gpu="A100-SXM4-40GB", driver="470.57.02", cuda="12.2")
    assert "install cuda-compat-12-2 in the image" in text
    assert "driver branch 470" in text


def test_a_case_of_which_a_variable_is_all_that_can_be_read_has_an_answer() -> None:
    words = {"gpu": "A30", "driver": "sm_70", "sm_list": "null", "framework_version": "1.2"}
    assert known.checked(**words, env="CUDA_VISIBLE_DEVICES=-1").verdict is Verdict.INCOMPATIBLE
