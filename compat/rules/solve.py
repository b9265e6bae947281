"""Combines findings to a verdict. A need fails if all its ways fail; every other refusal is final."""

from collections.abc import Iterable
from dataclasses import replace
from operator import attrgetter

from compat.rules import ALL_RULES
from compat.rules.rule import Need, Rule
from compat.values.findings import Finding, Severity, Verdict
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts

Findings = tuple[Finding, ...]
_VERDICTS = (Verdict.COMPATIBLE, Verdict.WITH_WARNING, Verdict.UNKNOWN, Verdict.INCOMPATIBLE)
_FAILED = Severity.REFUSE.rank
_RUNS = Severity.WARN.rank  # the worst that still runs
_ALONE = tuple(rule for rule in ALL_RULES if rule.need is None)
_WAYS = tuple(tuple(rule for rule in ALL_RULES if rule.need is need) for need in Need)
_rank = attrgetter("severity.rank")


def solve(image: ImageFacts, pool: PoolFacts) -> tuple[Verdict, Findings]:
    """One image on one pool, both known. Findings are what decided, worst first."""
    alone = [_as_far_as_known(each) for rule in _ALONE for each in rule.check(image, pool)]
    found = worst_first([*alone, *(each for ways in _WAYS for each in _best(ways, image, pool))])
    return _VERDICTS[found[0].severity.rank if found else 0], found


def runs(image: ImageFacts, pool: PoolFacts) -> bool:
    """Would `solve` say that it runs? Cheaper: it stops at the first refusal."""
    for ways in _WAYS:
        if any(each.severity.rank > _RUNS for each in _best(ways, image, pool)):
            return False
    return all(_as_far_as_known(each).severity.rank <= _RUNS for rule in _ALONE for each in rule.check(image, pool))


def _best(ways: tuple[Rule, ...], image: ImageFacts, pool: PoolFacts) -> list[Finding]:
    """Findings of the first of the best ways to meet a need; if all failed, findings of each."""
    found: list[Finding] = []
    best = _FAILED
    for rule in ways:
        reported = rule.check(image, pool)
        worst = max([finding.severity.rank for finding in reported], default=_FAILED + 1)
        if worst < best:
            best, found = worst, [*reported]
            if not best:
                break  # a way without a limit: none can be better
        elif worst == best == _FAILED:
            found += map(_as_far_as_known, reported)
    return found


def worst_first(findings: Iterable[Finding]) -> Findings:
    """In order of severity, then in the order of the rules."""
    return tuple(sorted(findings, key=_rank, reverse=True))


def _as_far_as_known(finding: Finding) -> Finding:
    """A fact from memory may warn, never refuse."""
    if finding.fact.verified or finding.severity is not Severity.REFUSE:
        return finding
    return replace(finding, severity=Severity.WARN, message=f"{finding.message} (from memory, not verified)")
