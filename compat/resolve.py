"""Findings to one verdict. A need has ways and fails when every way fails; every other refusal stands alone.

Many cases differ in little, and a rule looks at little: a rule is asked once for equal values of what it reads
(`of_image`, `of_pool`), and its findings are remembered by them. Equal means equal as it is printed: 12.4 and 12.4.0
are one version and two texts. A full memory is emptied, so that it holds no more after many cases than after some.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from operator import attrgetter
from typing import Any

from packaging.version import Version

from compat.model import Fact, Finding, Gpu, ImageFacts, PoolFacts, Present, Severity, Surroundings, Verdict
from compat.rules.index import ALL_RULES
from compat.rules.rule import Need, Question, Rule
from compat.versions import CudaVersion, DriverVersion, JetsonVersion

Findings = tuple[Finding, ...]
_Parts = tuple[int, ...]
_VERDICTS = (Verdict.COMPATIBLE, Verdict.WITH_WARNING, Verdict.UNKNOWN, Verdict.INCOMPATIBLE)
_FAILED = Severity.REFUSE.rank
_RUNS = Severity.WARN.rank  # the worst that still runs
_KEPT = 16384  # findings of one question
_rank = attrgetter("severity.rank")


# A pool has three parts, and a rule reads some of them: its GPU, its driver, what is around them.
def _part(fields: tuple[str, ...]) -> int:
    """Which of `_parts_of_pool` has these fields."""
    others = set(fields) - {"gpu", "driver"}
    return ("gpu" in fields) + 2 * ("driver" in fields) + 4 * bool(others)


@dataclass(frozen=True, slots=True)
class _Said:
    """What a rule says: how bad it is to a need, how bad as far as it is known for sure, and the findings."""

    way: int
    rank: int
    findings: Findings


class _Asked:
    """One question and what was said to it."""

    __slots__ = ("_check", "_found", "_image", "_pool")

    def __init__(self, question: Rule | Question, number: int) -> None:
        self._check = question.check
        self._image = number
        self._pool = _part(question.of_pool)
        self._found: dict[int, _Said] = {}

    def forget(self) -> None:
        self._found.clear()

    def __call__(self, image: ImageFacts, pool: PoolFacts, images: _Parts, pools: _Parts) -> _Said:
        key = images[self._image] << 32 | pools[self._pool]
        found = self._found.get(key)
        if found is None:
            found = _said(self._check(image, pool))
            if len(self._found) >= _KEPT:
                self._found.clear()
            self._found[key] = found
        return found


# A rule with questions is asked each of them, another one as a whole.
_QUESTIONS = tuple((rule.id, question) for rule in ALL_RULES for question in rule.questions or (rule,))
_ALL: dict[str, tuple[_Asked, ...]] = {rule.id: () for rule in ALL_RULES}
for _number, (_id, _question) in enumerate(_QUESTIONS):
    _ALL[_id] += (_Asked(_question, _number),)


@lru_cache(1024)
def _asked(told: frozenset[str]) -> tuple[tuple[_Asked, ...], tuple[tuple[_Asked, ...], ...]]:
    """Rules that may say something where these fields are known: those that stand alone, and the ways of each need."""
    rules = [rule for rule in ALL_RULES if rule.may_speak(told)]
    alone = tuple(asked for rule in rules if rule.need is None for asked in _ALL[rule.id])
    ways = (tuple(asked for rule in rules if rule.need is need for asked in _ALL[rule.id]) for need in Need)
    return alone, tuple(ways)


def solve(image: ImageFacts, pool: PoolFacts) -> tuple[Verdict, Findings]:
    """One image on one pool, both known. Findings are what decided, worst first."""
    alone, needs = _asked(image.told() | pool.told())
    images, pools = _parts_of_image(image), _parts_of_pool(pool.gpu, _driver(pool.driver), pool.around)
    told: list[Finding] = []
    for ask in alone:
        told += ask(image, pool, images, pools).findings
    for ways in needs:
        for said in _best(ways, image, pool, images, pools):
            told += said.findings
    told.sort(key=_rank, reverse=True)
    return _VERDICTS[told[0].severity.rank if told else 0], tuple(told)


def runs(image: ImageFacts, pool: PoolFacts) -> bool:
    """Would `solve` say that it runs? Cheaper, because the first refusal ends it."""
    alone, needs = _asked(image.told() | pool.told())
    images, pools = _parts_of_image(image), _parts_of_pool(pool.gpu, _driver(pool.driver), pool.around)
    for ways in needs:
        for said in _best(ways, image, pool, images, pools):
            if said.rank > _RUNS:
                return False
    return all(ask(image, pool, images, pools).rank <= _RUNS for ask in alone)


def _best(ways: tuple[_Asked, ...], image: ImageFacts, pool: PoolFacts, images: _Parts, pools: _Parts) -> list[_Said]:
    """The first of the best ways to meet a need; where all failed, every one. Empty: no rule says anything."""
    found: list[_Said] = []
    best = _FAILED
    for ask in ways:
        said = ask(image, pool, images, pools)
        if not said.findings or said.way > best:
            continue
        if said.way < best:
            best, found = said.way, [said]
            if not best:
                break  # a way without a limit: no other can be better
        elif best == _FAILED:
            found.append(said)
    return found


def worst_first(findings: Iterable[Finding]) -> Findings:
    """In order of severity; of equal ones in the order of the rules."""
    return tuple(sorted(findings, key=_rank, reverse=True))


def _said(findings: Findings) -> _Said:
    way = max([finding.severity.rank for finding in findings], default=0)
    if way == _FAILED:
        findings = tuple([_as_far_as_known(each) for each in findings])
    return _Said(way, max([finding.severity.rank for finding in findings], default=0), findings)


def _as_far_as_known(finding: Finding) -> Finding:
    """A fact from memory may warn, never refuse."""
    if finding.fact.verified or finding.severity is not Severity.REFUSE:
        return finding
    return replace(finding, severity=Severity.WARN, message=f"{finding.message} (from memory, not verified)")


class _Numbers:
    """A number for each value, the same for equal ones. A number is never given twice, even after all is forgotten."""

    def __init__(self) -> None:
        self._next = count()
        self._given: dict[Hashable, int] = {}

    def of(self, value: Hashable) -> int:
        number = self._given.get(value)
        if number is None:
            if len(self._given) >= _NUMBERED:
                self._given.clear()
            number = self._given[value] = next(self._next)
        return number


_numbers = _Numbers()
_NUMBERED = 65536


@lru_cache(16384)
def _parts_of_pool(gpu: Gpu, driver: Hashable, around: Surroundings) -> _Parts:
    """Numbers of what a rule may read of a pool, as `_part` counts them."""
    parts = ((), (gpu,), (driver,), (gpu, driver), (around,), (gpu, around), (driver, around), (gpu, driver, around))
    return tuple([_numbers.of(("pool", place, part)) for place, part in enumerate(parts)])


def _driver(driver: DriverVersion | None) -> Hashable:
    """All of it: a bare branch prints alike for its first and its last release."""
    if driver is None:
        return None
    return (driver.branch, driver.minor, driver.patch, str(driver), driver.given)


@lru_cache(4096)
def _parts_of_image(image: ImageFacts) -> _Parts:
    """For each question the number of what it reads of the image, as it is printed."""
    printed = {name: _printed(getattr(image, name)) for name in _READ}
    parts = [tuple([printed[name] for name in question.of_image]) for _, question in _QUESTIONS]
    return tuple([_numbers.of(("image", place, part)) for place, part in enumerate(parts)])


_READ = tuple({name for _, question in _QUESTIONS for name in question.of_image})


def _printed(value: Any) -> Any:
    return str(value) if type(value) in _PRINTED else value


_PRINTED = frozenset({Version, CudaVersion, DriverVersion, JetsonVersion, Present, Fact})


def forget() -> None:
    """Empty the memory of what rules said."""
    for questions in _ALL.values():
        for asked in questions:
            asked.forget()
    _parts_of_image.cache_clear()
    _parts_of_pool.cache_clear()
