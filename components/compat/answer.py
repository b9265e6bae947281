"""One case to one answer: solve every possibility, and see whether they agree."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

from components.compat import remedy
from components.compat.case import Axis, Case, Question, read_case
from components.compat.model import Answer, Fact, Finding, ImageFacts, PoolFacts, Severity, Verdict
from components.compat.resolve import Findings, solve

Solve = Callable[[ImageFacts, PoolFacts], tuple[Verdict, Findings]]
_MANY = 400  # possibilities that are solved for one case; what is open beyond that is not worth more


def check(case: Case) -> Answer:
    """Will this image run on that GPU with that driver, and if not, what to change?

    Raises CaseError for a case that cannot be read.
    """
    return replace(_check(replace(case, id="")), id=case.id)


@lru_cache(8192)
def _check(case: Case) -> Answer:
    return answer(read_case(case))


def answer(question: Question) -> Answer:
    """The answer to a question; `unknown` where its possibilities disagree, with what would settle it."""
    possibilities = [(image, pool) for image in question.images for pool in question.pools][:_MANY]
    if len(possibilities) == 1:
        (only,) = possibilities
        verdict, findings = solve(*only)
        return _told(verdict, (*findings, *question.notes), only)
    solved = [(*solve(image, pool), image, pool) for image, pool in possibilities]
    running = [each for each in solved if each[0].runs]
    refused = [each for each in solved if each[0] is Verdict.INCOMPATIBLE]
    if len(refused) == len(solved):
        best = _least_bad(refused)
        return _told(Verdict.INCOMPATIBLE, (*_shared(refused, best[1]), *question.notes), best[2:])
    if len(running) == len(solved):
        worst = max(running, key=lambda each: each[0] is Verdict.WITH_WARNING)
        return _told(worst[0], (*worst[1], *question.notes), worst[2:])
    return _undecided(question, solved, refused, running)


def _told(verdict: Verdict, findings: Findings, pair: tuple[ImageFacts, PoolFacts]) -> Answer:
    ordered = tuple(sorted(findings, key=lambda finding: _ORDER[finding.severity]))
    if verdict.runs and any(finding.severity is Severity.UNKNOWN for finding in ordered):
        verdict = Verdict.UNKNOWN  # how the case was read leaves something open
    found = remedy.find(*pair, verdict, ordered) if verdict is Verdict.INCOMPATIBLE else None
    return Answer("", verdict, ordered, found)


_ORDER = {Severity.REFUSE: 0, Severity.UNKNOWN: 1, Severity.WARN: 2, Severity.NOTE: 3}
Solved = tuple[Verdict, Findings, ImageFacts, PoolFacts]


def _least_bad(refused: list[Solved]) -> Solved:
    """The possibility with the fewest refusals; of equals the newest driver."""
    return min(
        refused,
        key=lambda each: (
            sum(finding.severity is Severity.REFUSE for finding in each[1]),
            -(each[3].driver.branch if each[3].driver else 0),
        ),
    )


def _shared(refused: list[Solved], findings: Findings) -> Findings:
    """Refusals that stand in every possibility; all of the chosen one's where none does."""
    rules = [{finding.rule for finding in each[1] if finding.severity is Severity.REFUSE} for each in refused]
    common = set.intersection(*rules)
    kept = tuple(f for f in findings if f.severity is not Severity.REFUSE or f.rule in common)
    return kept if common else findings


def _undecided(question: Question, solved: list[Solved], refused: list[Solved], running: list[Solved]) -> Answer:
    unsure = [each for each in solved if each[0] is Verdict.UNKNOWN]
    if not running or not (refused or unsure):
        best = (unsure or solved)[-1]
        return _told(Verdict.UNKNOWN, (*best[1], *question.notes), best[2:])
    shown = _turning_point(question.open, refused or unsure, running)
    against = (refused or unsure)[-1]
    decisive = tuple(f for f in against[1] if f.severity in {Severity.REFUSE, Severity.UNKNOWN})
    open_ = tuple(
        replace(finding, severity=Severity.UNKNOWN, message=f"{shown}: {finding.message}") for finding in decisive[:3]
    )
    if not open_:
        open_ = (Finding("R-BACK", Severity.UNKNOWN, shown, Fact("", "the case", "")),)
    return _told(Verdict.UNKNOWN, (*open_, *question.notes), against[2:])


def _turning_point(axes: tuple[Axis, ...], against: list[Solved], running: list[Solved]) -> str:
    """What is missing, and from where on it would run."""
    missing = [axis.missing for axis in axes]
    drivers = sorted({each[3].driver for each in running if each[3].driver is not None})
    if any(axis.field == "driver" for axis in axes) and drivers:
        bad = {each[3].driver for each in against}
        good = [driver for driver in drivers if driver not in bad]
        if good and len(axes) == 1:
            newest = max((d for d in bad if d is not None), default=None)
            until = "" if newest is None or newest < good[-1] else f" to {good[-1]}"
            return f"it depends on {missing[0]} (runs on {good[0]}{until or ' and newer'})"
    return "it depends on " + " and ".join(missing)
