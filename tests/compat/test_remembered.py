"""What a rule said is remembered by what it reads: the answer is the one that would be made anew."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from components.compat import Answer, Case, CaseError, case_from, check
from components.compat.contents import read_images
from components.compat.model import Platform
from components.compat.pools import read_pools
from components.compat.resolve import forget
from components.compat.rules.index import ALL_RULES
from components.compat.rules.rule import Rule
from components.compat.tables import builds, gpu_models, toolkits
from components.compat.turning import turning_drivers

sys.path.insert(0, str(Path(__file__).parent))  # for known.py: folders of tests are no packages here
import known

SEED = 20261121


KNOWN = [*known.reported(), *map(case_from, known.examples())]


class Watched:
    """Passes on what is asked of it, and notes what that was."""

    def __init__(self, watched: object, seen: set[str]) -> None:
        self._watched = watched
        self._seen = seen

    def __getattr__(self, name: str) -> Any:
        self._seen.add(name)
        return getattr(self._watched, name)


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in ALL_RULES])
def test_a_rule_looks_at_nothing_but_what_it_says_that_it_reads(rule: Rule) -> None:
    assert rule.of_image is not None
    assert rule.of_pool is not None
    of_image: set[str] = set()
    of_pool: set[str] = set()
    for case in KNOWN:
        pools = read_pools(case).values
        for image in read_images(case, pools[0]).values[:2]:
            for pool in pools[:2]:
                open_ = pool.driver is None and pool.platform is not Platform.JETSON
                drivers = turning_drivers(image, pool)[::3] if open_ else (pool.driver,)
                for driver in drivers:
                    here: Any = Watched(replace(pool, driver=driver), of_pool)
                    rule.check(Watched(image, of_image), here)  # type: ignore[arg-type]  # what stands for an image
    assert of_image <= set(rule.of_image)
    assert of_pool <= set(rule.of_pool)


def _drawn(number: int) -> list[Case]:
    """Cases that differ in one thing at a time, spelling too: 418.88 and 418.88.00 are equal and print otherwise."""
    chance = Random(SEED)
    models = chance.sample(gpu_models(), 12)
    drivers = ["418.88", "418.88.00", "450.80.02", "535", "535.183.01", "580.95.05", "595.71.05", ""]
    lines = [str(each.version) for each in chance.sample(toolkits(), 8)] + ["12.4", "12.4.0", "10.1", "10.2.0"]
    wheels = [build for each in builds().values() for build in each]
    found = []
    for _ in range(number):
        case = Case(gpu=chance.choice(models).name, driver=chance.choice(drivers), host=chance.choice(["", "docker"]))
        if chance.random() < 0.5:
            found.append(replace(case, cuda=chance.choice(lines), cuda_compat=chance.choice(["", "yes"])))
        else:
            wheel = chance.choice(wheels)
            found.append(replace(case, framework=wheel.framework, framework_version=wheel.version, build=wheel.variant))
    return found


def _answer(case: Case) -> Answer | str:
    try:
        return check(case)
    except CaseError as error:
        return str(error)


def test_an_answer_from_memory_is_the_answer_made_anew() -> None:
    cases = [*_drawn(300), *KNOWN[::4]]
    remembered = [repr(_answer(case)) for case in cases]
    for case, before in zip(cases, remembered, strict=True):
        forget()
        assert repr(_answer(case)) == before


def test_equal_versions_print_as_they_are_written() -> None:
    for _ in range(2):  # the second time from memory
        for cuda in ("12.4", "12.4.0"):
            said = " ".join(
                finding.message for finding in check(Case(gpu="T4", driver="470.57.02", cuda=cuda)).findings
            )
            assert f"CUDA {cuda} " in said
        for driver in ("418.88", "418.88.00"):
            said = " ".join(finding.message for finding in check(Case(gpu="T4", driver=driver, cuda="10.2")).findings)
            assert f"is {driver}." in said or f"is {driver} " in said or said.endswith(driver)
