"""What a rule said is remembered by what it reads: the answer is the one that would be made anew."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from compat import Answer, Case, CaseError, case_from, check, instead, remedy
from compat.answer import forget
from compat.case import FIELDS, POOL_FIELDS
from compat.contents import Written, read_images
from compat.instead import Option
from compat.model import ImageFacts, Platform, PoolFacts
from compat.pools import read_pools
from compat.rules.index import ALL_RULES
from compat.rules.rule import Question, Rule
from compat.tables import builds, gpu_models, toolkits
from compat.turning import turning_drivers
from compat.versions import DriverVersion

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


def _asked(case: Case) -> Iterator[tuple[ImageFacts, PoolFacts]]:
    """Images and pools that a case may mean, a few of each."""
    pools = read_pools(case).values
    for image in read_images(case, pools[0]).values[:2]:
        for pool in pools[:2]:
            open_ = pool.driver is None and pool.platform is not Platform.JETSON
            for driver in turning_drivers(image, pool)[::3] if open_ else (pool.driver,):
                yield image, replace(pool, driver=driver)


QUESTIONS = [
    pytest.param(question, id=f"{rule.id}-{number}" if rule.questions else rule.id)
    for rule in ALL_RULES
    for number, question in enumerate((rule, *rule.questions))
]


@pytest.mark.parametrize("question", QUESTIONS)
def test_a_rule_looks_at_nothing_but_what_it_says_that_it_reads(question: Rule | Question) -> None:
    of_image: set[str] = set()
    of_pool: set[str] = set()
    for case in KNOWN:
        for image, pool in _asked(case):
            here: Any = Watched(pool, of_pool)
            question.check(Watched(image, of_image), here)  # type: ignore[arg-type]  # what stands for an image
    assert of_image <= set(question.of_image)
    assert of_pool <= set(question.of_pool)
    assert of_image | of_pool


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in ALL_RULES if rule.questions])
def test_the_questions_of_a_rule_are_all_of_it(rule: Rule) -> None:
    for image, pool in itertools.chain.from_iterable(map(_asked, KNOWN)):
        assert rule.check(image, pool) == tuple(said for each in rule.questions for said in each.check(image, pool))


@pytest.mark.parametrize("rule", [pytest.param(rule, id=rule.id) for rule in ALL_RULES if rule.reads])
def test_a_rule_is_silent_where_nothing_is_known_of_what_it_asks_for(rule: Rule) -> None:
    silent = 0
    for image, pool in itertools.chain.from_iterable(map(_asked, KNOWN)):
        if not rule.may_speak(image.told() | pool.told()):
            silent += 1
            assert rule.check(image, pool) == ()
    assert silent > len(KNOWN) // 10  # else nothing is saved by it


# Fields of a case by which images, and options in their place, are remembered: all that these may look at.
OF_IMAGE = {*Written._fields} - {"system"} | {"os", "host"}
OF_HOST = set(POOL_FIELDS) | {"build"}  # which may name a JetPack


def test_an_image_is_read_from_the_fields_by_which_it_is_remembered() -> None:
    of_pools: set[str] = set()
    of_images: set[str] = set()
    for case in KNOWN:
        pools = read_pools(Watched(case, of_pools)).values  # type: ignore[arg-type]  # what stands for a case
        read_images(Watched(case, of_images), pools[0])  # type: ignore[arg-type]
    assert of_pools <= OF_HOST
    assert of_images <= OF_IMAGE
    assert {*of_pools, *of_images} >= set(FIELDS) - {"id"}


def _options(case: Case, image: ImageFacts, pool: PoolFacts) -> Iterator[tuple[str, Iterator[Option]]]:
    driver = pool.driver
    if image.framework:
        yield "builds", instead.builds(case, image, pool, driver)
        yield "newest", instead.newest_builds(case, image, pool, driver)
    if case.image:
        yield "tags", instead.tags(case, pool, driver)
    yield "lines", (instead.of_line(case, line) for line in instead.lines(image, pool, driver))
    yield "target", instead.target(case, image, pool, driver)


def test_options_are_made_from_the_fields_by_which_they_are_remembered() -> None:
    seen: set[str] = set()
    made: Counter[str] = Counter()
    for case in KNOWN:
        watched: Any = Watched(case, seen)
        for image, pool in itertools.islice(_asked(case), 2):
            for kind, options in _options(watched, image, pool):
                made[kind] += len(list(itertools.islice(options, 3)))
    assert seen <= OF_IMAGE
    assert min(made.values()) > 100
    assert len(made) == 5


def test_a_remedy_is_made_anew_after_forgetting(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Case] = []
    made = instead.builds

    def builds_of(case: Case, image: ImageFacts, pool: PoolFacts, driver: DriverVersion | None) -> Iterator[Option]:
        asked.append(case)
        return made(case, image, pool, driver)

    monkeypatch.setattr(instead, "builds", builds_of)
    case = Case(gpu="RTX 2080 Ti", driver="418.88", framework="torch", framework_version="1.5.0")
    forget()
    first = check(case)
    assert (len(asked), first.remedy is not None) == (1, True)
    assert check(case) == first
    assert len(asked) == 1
    forget()
    assert check(case) == first
    assert len(asked) == 2


def test_what_runs_where_is_asked_anew_after_forgetting(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[PoolFacts] = []
    told = remedy.runs

    def runs(image: ImageFacts, pool: PoolFacts) -> bool:
        asked.append(pool)
        return told(image, pool)

    monkeypatch.setattr(remedy, "runs", runs)
    case = Case(gpu="RTX 2080 Ti", driver="418.88", cuda="10.2")
    forget()
    check(case)
    before = len(asked)
    assert before
    check(case)
    assert len(asked) == before
    forget()
    check(case)
    assert len(asked) == 2 * before


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
