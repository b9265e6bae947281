"""One case to one answer: solve every possibility, and see whether they agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from components.compat import remedy, tables
from components.compat.case import Case, CaseError
from components.compat.contents import read_images
from components.compat.model import Answer, ImageFacts, Platform, PoolFacts, Severity, Verdict
from components.compat.pools import read_pools
from components.compat.reading import Axis
from components.compat.resolve import Findings, solve, worst_first
from components.compat.rules.back import native_floor
from components.compat.rules.minor import major_floor
from components.compat.versions import DriverVersion

_MANY = 400  # possibilities that are solved for one case; what is open beyond that is not worth more
_KEPT = 8192  # answers: a fleet asks the same few questions again and again


def check(case: Case) -> Answer:
    """Will this image run on that GPU with that driver, and if not, what to change?

    Raises CaseError for a case that cannot be read, with every problem in it.
    """
    found = _check(case)
    return Answer(case.id, found.verdict, found.findings, found.remedy)


@lru_cache(_KEPT)
def _check(case: Case) -> Answer:
    pools = read_pools(case)
    images = read_images(case, pools.values[0] if pools.values else None)
    if problems := [*pools.problems, *images.problems]:
        raise CaseError(problems)
    possible = [
        Possibility(image, exact) for image in images.values for pool in pools.values for exact in _exact(image, pool)
    ]
    findings = (*pools.notes, *images.notes)
    if len(possible) == 1:
        return _told(possible[0], possible[0].findings, findings)
    return _together(possible[:_MANY], findings, (*pools.open, *images.open))


@dataclass(slots=True)
class Possibility:
    """One image on one pool that a case may mean, solved."""

    image: ImageFacts
    pool: PoolFacts
    verdict: Verdict = Verdict.UNKNOWN
    findings: Findings = ()

    def __post_init__(self) -> None:
        self.verdict, self.findings = solve(self.image, self.pool)


def _told(chosen: Possibility, findings: Findings, notes: Findings, verdict: Verdict | None = None) -> Answer:
    """The answer of a possibility: its findings, how the case was read, and what would turn it."""
    verdict = verdict or chosen.verdict
    if notes:
        findings = worst_first((*findings, *notes))
        if verdict.runs and findings[0].severity is Severity.UNKNOWN:
            verdict = Verdict.UNKNOWN  # how the case was read leaves something open
        elif verdict is Verdict.COMPATIBLE and any(each.severity is Severity.WARN for each in notes):
            verdict = Verdict.WITH_WARNING
    found = remedy.find(chosen.image, chosen.pool, findings) if verdict is Verdict.INCOMPATIBLE else None
    return Answer("", verdict, findings, found)


def _together(possible: list[Possibility], notes: Findings, axes: tuple[Axis, ...]) -> Answer:
    """Where all agree, what is open does not matter; else `unknown`, with what would settle it."""
    running = [each for each in possible if each.verdict.runs]
    refused = [each for each in possible if each.verdict is Verdict.INCOMPATIBLE]
    if len(running) == len(possible):
        chosen = max(running, key=lambda each: each.verdict is Verdict.WITH_WARNING)
        return _told(chosen, chosen.findings, notes)
    if len(refused) == len(possible):
        chosen = _least_bad(refused)
        return _told(chosen, _shared(refused, chosen.findings), notes)
    against = refused or [each for each in possible if not each.verdict.runs]
    if not running:
        unsure = next(each for each in possible if each.verdict is Verdict.UNKNOWN)
        return _told(unsure, unsure.findings, notes)
    turn = _turning_point(axes, against, running)
    decisive = [each for each in against[-1].findings if each.severity in {Severity.REFUSE, Severity.UNKNOWN}]
    open_ = tuple(replace(each, severity=Severity.UNKNOWN, message=f"{turn}: {each.message}") for each in decisive[:3])
    return _told(against[-1], open_, notes, Verdict.UNKNOWN)


def _least_bad(refused: list[Possibility]) -> Possibility:
    """The possibility with the fewest refusals; of equals the newest driver."""

    def badness(each: Possibility) -> tuple[int, int]:
        refusals = sum(finding.severity is Severity.REFUSE for finding in each.findings)
        return refusals, -(each.pool.driver.branch if each.pool.driver else 0)

    return min(refused, key=badness)


def _shared(refused: list[Possibility], findings: Findings) -> Findings:
    """Refusals that stand in every possibility; all of the chosen one's where none does."""
    rules = [{each.rule for each in one.findings if each.severity is Severity.REFUSE} for one in refused]
    common = set.intersection(*rules)
    kept = tuple(each for each in findings if each.severity is not Severity.REFUSE or each.rule in common)
    return kept if common else findings


def _turning_point(axes: tuple[Axis, ...], against: list[Possibility], running: list[Possibility]) -> str:
    """What is missing, and from which driver on it would run."""
    missing = " and ".join(axis.missing for axis in axes)
    good = sorted({each.pool.driver for each in running if each.pool.driver is not None})
    bad = {each.pool.driver for each in against if each.pool.driver is not None}
    if len(axes) == 1 and axes[0].field == "driver" and good:
        until = f" to branch {good[-1].branch}" if bad and max(bad) > good[-1] else " and newer"
        return f"it depends on {missing} (runs on {good[0]}{until})"
    return f"it depends on {missing}"


def _exact(image: ImageFacts, pool: PoolFacts) -> tuple[PoolFacts, ...]:
    """A pool whose driver nobody said, with one driver for each stretch in which the answer is the same."""
    if pool.driver is not None or pool.platform is Platform.JETSON:
        return (pool,)
    return tuple(replace(pool, driver=driver) for driver in _turning_drivers(image, pool))


def _turning_drivers(image: ImageFacts, pool: PoolFacts) -> list[DriverVersion]:
    """The oldest driver of the tables, and each one from which on some rule may answer otherwise."""
    turns = {tables.first_release(min(tables.driver_branches()))}
    for cuda in {each for each in (image.cuda, image.built_with, image.compat_line) if each is not None}:
        for found in (
            native_floor(cuda, pool.platform),
            native_floor(cuda.line, pool.platform),
            major_floor(cuda, pool.platform),
        ):
            turns |= {found[0]} if found else set()
        branches = {branch for line, branch in tables.forward_compats() if line == cuda.line}
        turns |= {tables.first_release(branch) for branch in branches | set(image.compat_branches)}
    arch = tables.architectures().get(pool.gpu.capability)
    if arch is not None and arch.first_branch is not None:
        turns.add(tables.first_release(arch.first_branch))
    if arch is not None and arch.last_branch is not None:
        newer = min((branch for branch in tables.driver_branches() if branch > arch.last_branch), default=0)
        turns |= {tables.first_release(newer)} if newer else set()
    if image.stated_driver is not None:
        turns.add(image.stated_driver)
    return sorted(turns)
