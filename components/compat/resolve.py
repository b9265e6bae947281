"""Findings to one verdict. A need has ways and fails when every way fails; every other refusal stands alone."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType

from components.compat.model import Finding, ImageFacts, PoolFacts, Severity, Verdict
from components.compat.rules.index import ALL_RULES
from components.compat.rules.rule import Need

Findings = tuple[Finding, ...]
_RANK = MappingProxyType({Severity.NOTE: 0, Severity.WARN: 1, Severity.UNKNOWN: 2, Severity.REFUSE: 3})
_VERDICTS = (Verdict.COMPATIBLE, Verdict.WITH_WARNING, Verdict.UNKNOWN, Verdict.INCOMPATIBLE)
_FAILED = _RANK[Severity.REFUSE]
_WAYS = tuple(tuple(rule.check for rule in ALL_RULES if rule.need is need) for need in Need)
_ALONE = tuple(rule.check for rule in ALL_RULES if rule.need is None)


def solve(image: ImageFacts, pool: PoolFacts) -> tuple[Verdict, Findings]:
    """One image on one pool, both known. Findings are what decided, worst first."""
    findings: list[Finding] = []
    for check in _ALONE:
        findings += check(image, pool)
    for ways in _WAYS:
        best, nearest = _FAILED + 1, ()
        failed: list[Finding] = []
        for check in ways:
            if way := check(image, pool):
                worst = max([_RANK[finding.severity] for finding in way])
                if worst < best:
                    best, nearest = worst, way
                failed += way
        findings += failed if best == _FAILED else nearest
    told = worst_first(map(_as_far_as_known, findings))
    return _VERDICTS[_rank(told[0])] if told else Verdict.COMPATIBLE, told


def worst_first(findings: Iterable[Finding]) -> Findings:
    """In order of severity; of equal ones in the order of the rules."""
    return tuple(sorted(findings, key=_rank, reverse=True))


def _rank(finding: Finding) -> int:
    return _RANK[finding.severity]


def _as_far_as_known(finding: Finding) -> Finding:
    """A fact from memory may warn, never refuse."""
    if finding.severity is not Severity.REFUSE or finding.fact.verified:
        return finding
    return replace(finding, severity=Severity.WARN, message=f"{finding.message} (from memory, not verified)")
