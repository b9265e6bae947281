"""One case to one answer: solve every possibility, and see whether they agree."""

from __future__ import annotations

from dataclasses import dataclass, replace

from compat.evidence.case import POOL_FIELDS, Case, CaseError
from compat.evidence.contents import read_images, system_of
from compat.evidence.drivers import FIRST_IN_WSL, first_drivers, last_driver, turning_drivers
from compat.evidence.host import Host
from compat.evidence.pools import try_host, with_jetpack_of
from compat.evidence.problems import Axis
from compat.evidence.prose import unknown_build
from compat.evidence.prose.references import without_remark
from compat.facts import tables
from compat.facts.rows import LINUX
from compat.rules import drop
from compat.rules.rule import note
from compat.rules.solve import Findings, solve, worst_first
from compat.values.model import Answer, Change, ImageFacts, Platform, PoolFacts, Remedy, Severity, Verdict
from compat.values.versions import DriverVersion
from compat.verdict import remedy
from compat.verdict.fix_search import FailingCase


def check(case: Case, *, with_remedy: bool = True) -> Answer:
    """Will this image run on that GPU with that driver, and if not, what to change?

    A remedy costs more than the rest of the answer: callers that want only verdicts and findings leave it out.
    A field that cannot be read counts as not given, and a note says so. Raises CaseError, with every problem, where
    that leaves no GPU or nothing to run.
    """
    host, problems = try_host(case, lenient=True)
    try:
        if not problems:
            return _check_on(case, host, with_remedy=with_remedy, lenient=True)
    except CaseError:
        pass
    raise CaseError([*try_host(case)[1], *read_images(case, LINUX, lenient=False).problems])


def check_on(image: Case, host: Host, *, with_remedy: bool = True) -> Answer:
    """The same for a host that is known already: only the image fields of the case count.

    Raises CaseError for an image of which a field cannot be read.
    """
    return _check_on(image, host, with_remedy=with_remedy, lenient=False)


def _check_on(image: Case, host: Host, *, with_remedy: bool, lenient: bool) -> Answer:
    image = without_remark(image)
    pools = with_jetpack_of(image, host.may_be)
    images = read_images(image, system_of(pools[0]), lenient=lenient)
    if images.problems:
        raise CaseError(list(images.problems))
    meant = Meant(
        image,
        _as_read(image, images.passed_over),
        images.values,
        host,
        pools,
        (*host.notes, *images.notes),
        with_remedy,
    )
    possible = [
        Possibility(found, exact, *solve(found, exact))
        for found in images.values
        for pool in pools
        for exact in _exact(found, pool)
    ]
    if any(found.taken_by_driver for found in images.values):
        possible = _best_on_each(possible)
    return _together(meant, possible, (*host.open, *images.open))


def _best_on_each(possible: list[Possibility]) -> list[Possibility]:
    """For each possible host, the newest build that runs there, where a project publishes one for each CUDA."""
    best: dict[tuple[int, DriverVersion | None], Possibility] = {}
    for each in possible:
        key = id(each.pool.gpu), each.pool.driver
        if key not in best or each.verdict.rank <= best[key].verdict.rank:
            best[key] = each
    return list(best.values())


def _as_read(image: Case, passed_over: tuple[str, ...]) -> Case:
    """Without what cannot be read, so that a remedy does not start from it; targets stay unread, not absent."""
    return image.with_changes(Change(name, "", "") for name in passed_over if name not in {"sm_list", "ptx", "build"})


def _as_written(found: Remedy, image: Case) -> Remedy:
    """With changes that start from the case's own text, even where that could not be read."""

    def started(changes: tuple[Change, ...]) -> tuple[Change, ...]:
        return tuple(
            each if each.field in POOL_FIELDS else replace(each, from_=getattr(image, each.field)) for each in changes
        )

    otherwise = tuple(replace(each, changes=started(each.changes)) for each in found.otherwise)
    return replace(found, changes=started(found.changes), otherwise=otherwise)


@dataclass(frozen=True, slots=True)
class Meant:
    """The readings of a case: what it may mean, and how it was read."""

    written: Case
    image: Case  # without what could not be read
    images: tuple[ImageFacts, ...]
    host: Host
    pools: tuple[PoolFacts, ...]
    notes: Findings
    with_remedy: bool


@dataclass(frozen=True, slots=True)
class Possibility:
    """One image on one pool that a case may mean, solved."""

    image: ImageFacts
    pool: PoolFacts
    verdict: Verdict
    findings: Findings


def _answer(meant: Meant, chosen: Possibility, findings: Findings, verdict: Verdict | None = None) -> Answer:
    """The answer of a possibility: its findings, how the case was read, and what would change it."""
    verdict = verdict or chosen.verdict
    notes, open_ = meant.notes, chosen.image.unknown_build
    if open_ is not None:
        notes = (*notes, unknown_build.judged(open_, chosen.image, chosen.pool))
    if notes:
        findings = worst_first((*findings, *notes))
        if any(each.severity is Severity.REFUSE for each in notes):
            verdict = Verdict.INCOMPATIBLE
        if verdict.runs and findings[0].severity is Severity.UNKNOWN:
            verdict = Verdict.UNKNOWN  # how the case was read leaves something open
        elif verdict is Verdict.COMPATIBLE and any(each.severity is Severity.WARN for each in notes):
            verdict = Verdict.WITH_WARNING
    found = None
    if verdict is Verdict.INCOMPATIBLE and meant.with_remedy:
        failing = FailingCase(meant.image, meant.host.shown, chosen.image, chosen.pool, meant.images, meant.pools)
        found = remedy.find(failing, findings)
        if meant.written != meant.image:
            found = _as_written(found, meant.written)
    return Answer(meant.image.id, verdict, findings, found)


def _together(meant: Meant, possible: list[Possibility], axes: tuple[Axis, ...]) -> Answer:
    """Where all agree, or there is one, what is open does not matter; else `unknown`, with what would settle it."""
    running = [each for each in possible if each.verdict.runs]
    refused = [each for each in possible if each.verdict is Verdict.INCOMPATIBLE]
    if len(running) == len(possible):
        chosen = max(running, key=lambda each: each.verdict is Verdict.WITH_WARNING)
        about = _on_any_driver(running, axes)
        return _answer(meant, chosen, worst_first((*chosen.findings, *about)) if about else chosen.findings)
    if len(refused) == len(possible):
        chosen = _least_bad(refused)
        return _answer(meant, chosen, _shared(refused, chosen.findings))
    against = refused or [each for each in possible if not each.verdict.runs]
    if not running:
        unsure = next(each for each in possible if each.verdict is Verdict.UNKNOWN)
        return _answer(meant, unsure, unsure.findings)
    turn = _turning_point(axes, against, running)
    decisive = [each for each in against[-1].findings if each.severity in {Severity.REFUSE, Severity.UNKNOWN}]
    open_ = tuple(replace(each, severity=Severity.UNKNOWN, message=f"{turn}: {each.message}") for each in decisive[:3])
    return _answer(meant, against[-1], open_, Verdict.UNKNOWN)


def _on_any_driver(running: list[Possibility], axes: tuple[Axis, ...]) -> Findings:
    """The drivers for which the answer holds, where the case names none."""
    drivers = [each.pool.driver for each in running if each.pool.driver is not None]
    if not drivers or not any(axis.field == "driver" for axis in axes):
        return ()
    gpu, last = running[0].pool.gpu, last_driver(running[0].pool.gpu, running[0].pool.platform)
    message = f"no driver is stated: it runs on every driver for {gpu.name}, from {min(drivers)} "
    return (note(drop.ID, message + ("on" if last is None else f"to branch {last}"), gpu.fact),)


def _least_bad(refused: list[Possibility]) -> Possibility:
    """The possibility with the fewest refusals; of equals the newest driver."""

    def badness(each: Possibility) -> tuple[int, int]:
        refusals = sum(finding.severity is Severity.REFUSE for finding in each.findings)
        return refusals, -(each.pool.driver.branch if each.pool.driver else 0)

    return min(refused, key=badness)


def _shared(refused: list[Possibility], findings: Findings) -> Findings:
    """Refusals that every possibility shares; all of the chosen one's where there are none."""
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
        # A driver stands for all up to the next one at which an answer turns, or to the GPU's last branch.
        last = last_driver(running[-1].pool.gpu, running[-1].pool.platform)
        until = " and newer" if last is None else f" to branch {last}"
        if any(each > good[-1] for each in bad):
            until = f" to branch {good[-1].branch}"
        return f"it depends on {missing} (runs on {good[0]}{until})"
    return f"it depends on {missing}"


def _exact(image: ImageFacts, pool: PoolFacts) -> tuple[PoolFacts, ...]:
    """A pool without a stated driver, with one driver for each stretch in which the answer is the same.

    The driver is one that drives the GPU, and of its branch a late release: a machine on which nothing would run is not
    in question.
    """
    if pool.platform is Platform.JETSON and pool.jetson is None:
        return _on_jetson(image, pool)
    if pool.is_exact:
        return (pool,)
    turning = turning_drivers(image, pool)
    first, last = min(first_drivers(pool.gpu, pool.platform), default=turning[0]), last_driver(pool.gpu, pool.platform)
    if pool.host == "wsl":
        first = max(first, FIRST_IN_WSL)
    if pool.gpu.drivers is not None and pool.host != "wsl":
        # A driver that lists the board, not only its chip: its owner has installed one.
        own = min(pool.gpu.drivers.first)
        first = max(first, own if pool.platform is not Platform.WINDOWS else DriverVersion.start_of(own.branch))
    since = pool.gpu.supported_from
    if since is not None and pool.gpu.drivers is None and since.branch > first.branch and pool.host != "wsl":
        first = since
    # Of its first branch a later release, as people install them; the driver keeps the number that tables name.
    first = max(first, replace(DriverVersion.end_of(first.branch), shown=str(first)))
    able = [first, *(each for each in turning if each > first and (last is None or each <= last))]
    return tuple(replace(pool, driver=driver) for driver in able)


def _on_jetson(image: ImageFacts, pool: PoolFacts) -> tuple[PoolFacts, ...]:
    """A Jetson without a stated release: with each that its module can have, if the answer is the same on all."""
    releases = [row.l4t for row in tables.jetsons() if pool.gpu.capability in row.modules]
    able = tuple(replace(pool, jetson=each) for each in dict.fromkeys(releases))
    verdicts = {solve(image, each)[0] for each in able}
    is_settled = verdicts == {Verdict.INCOMPATIBLE} or all(each.runs for each in verdicts)
    return able if able and is_settled else (pool,)
