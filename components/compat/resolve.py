"""Findings to one verdict. A need has ways and fails when every way fails; every other refusal stands alone."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from components.compat.model import Finding, ImageFacts, PoolFacts, Severity, Verdict
from components.compat.rules.index import ALL_RULES
from components.compat.rules.rule import Need

Findings = tuple[Finding, ...]
_WAYS = {need: tuple(rule.check for rule in ALL_RULES if rule.need is need) for need in Need}
_ALONE = tuple(rule.check for rule in ALL_RULES if rule.need is None)
_RANK = {Severity.NOTE: 0, Severity.WARN: 1, Severity.UNKNOWN: 2, Severity.REFUSE: 3}


def solve(image: ImageFacts, pool: PoolFacts) -> tuple[Verdict, Findings]:
    """One image on one pool, both known. Findings are what decided, worst first."""
    findings: list[Finding] = []
    for check in _ALONE:
        findings += check(image, pool)
    for ways in _WAYS.values():
        findings += _best_way([check(image, pool) for check in ways])
    told = [_as_far_as_known(finding) for finding in findings]
    told.sort(key=_rank, reverse=True)
    return verdict_of(told), tuple(told)


def verdict_of(findings: Iterable[Finding]) -> Verdict:
    """The worst severity as a verdict."""
    severities = {finding.severity for finding in findings}
    if Severity.REFUSE in severities:
        return Verdict.INCOMPATIBLE
    if Severity.UNKNOWN in severities:
        return Verdict.UNKNOWN
    return Verdict.WITH_WARNING if Severity.WARN in severities else Verdict.COMPATIBLE


def _best_way(ways: Sequence[Findings]) -> Findings:
    """The findings of the best way; of ways that fail alike, all, the nearest first."""
    said = [way for way in ways if way]
    if not said:
        return ()
    best = min(max(map(_rank, way)) for way in said)
    if best < _RANK[Severity.REFUSE]:
        return next(way for way in said if max(map(_rank, way)) == best)
    return tuple(finding for way in said for finding in way)


def _rank(finding: Finding) -> int:
    return _RANK[finding.severity]


def _as_far_as_known(finding: Finding) -> Finding:
    """A fact from memory may warn, never refuse."""
    if finding.severity is not Severity.REFUSE or finding.fact.verified:
        return finding
    return replace(finding, severity=Severity.WARN, message=f"{finding.message} (from memory, not verified)")
