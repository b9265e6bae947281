"""Findings to one verdict. A need has ways and fails when every way fails; every other refusal stands alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType

from components.compat.model import Finding, ImageFacts, PoolFacts, Severity, Verdict
from components.compat.rules.index import ALL_RULES
from components.compat.rules.rule import Check, Need

Findings = tuple[Finding, ...]
_RANK = MappingProxyType({Severity.NOTE: 0, Severity.WARN: 1, Severity.UNKNOWN: 2, Severity.REFUSE: 3})
_VERDICTS = (Verdict.COMPATIBLE, Verdict.WITH_WARNING, Verdict.UNKNOWN, Verdict.INCOMPATIBLE)
_FAILED = _RANK[Severity.REFUSE]


@lru_cache(1024)
def _checks(told: frozenset[str]) -> tuple[tuple[Check, ...], tuple[tuple[Check, ...], ...]]:
    """Checks that may say something where these fields are known: those that stand alone, and the ways of each need."""
    rules = [rule for rule in ALL_RULES if rule.may_speak(told)]
    alone = tuple(rule.check for rule in rules if rule.need is None)
    return alone, tuple(tuple(rule.check for rule in rules if rule.need is need) for need in Need)


def solve(image: ImageFacts, pool: PoolFacts) -> tuple[Verdict, Findings]:
    """One image on one pool, both known. Findings are what decided, worst first."""
    alone, needs = _checks(image.told() | pool.told())
    findings: list[Finding] = []
    for check in alone:
        findings += check(image, pool)
    for ways in needs:
        best = _FAILED + 1
        nearest: Findings = ()
        failed: list[Finding] = []
        for check in ways:
            if way := check(image, pool):
                worst = _RANK[way[0].severity] if len(way) == 1 else max([_RANK[each.severity] for each in way])
                if worst < best:
                    best, nearest = worst, way
                    if not worst:
                        break  # a way without a limit: no other can be better
                failed += way
        findings += failed if best == _FAILED else nearest
    told = worst_first([_as_far_as_known(each) if each.severity is Severity.REFUSE else each for each in findings])
    return _VERDICTS[_RANK[told[0].severity]] if told else Verdict.COMPATIBLE, told


def worst_first(findings: Iterable[Finding]) -> Findings:
    """In order of severity; of equal ones in the order of the rules."""
    return tuple(sorted(findings, key=_rank, reverse=True))


def _rank(finding: Finding) -> int:
    return _RANK[finding.severity]


def _as_far_as_known(finding: Finding) -> Finding:
    """A fact from memory may warn, never refuse."""
    if finding.fact.verified:
        return finding
    return replace(finding, severity=Severity.WARN, message=f"{finding.message} (from memory, not verified)")
