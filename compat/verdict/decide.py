"""Decides one case: solves every possibility that it leaves open, and checks whether they agree."""

from dataclasses import dataclass, replace

from compat.evidence.case import Case, CaseError, OpenField
from compat.evidence.drivers import first_drivers, last_driver, turning_drivers
from compat.evidence.host import NOT_COVERED, Host
from compat.evidence.image import read_images
from compat.rules import drop
from compat.rules.solve import Findings, solve
from compat.values.findings import Change, Severity, Verdict, note, worst_first
from compat.values.hosts import PoolFacts
from compat.values.images import ImageFacts
from compat.values.versions import DriverVersion


@dataclass(frozen=True, slots=True)
class Possibility:
    """A possible image on a possible pool, solved."""

    image: ImageFacts
    pool: PoolFacts
    verdict: Verdict
    findings: Findings


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict on a case, and its basis: the representative possibility, and how the case was read."""

    verdict: Verdict
    findings: Findings
    chosen: Possibility | None = None  # None: the host is not covered
    case: Case | None = None  # without what could not be read
    images: tuple[ImageFacts, ...] = ()


_OF_HOST = frozenset({"driver", "gpu", "gpu_class", "ami_release"})


def decide(case: Case, host: Host, *, lenient: bool = False) -> Decision:
    """The verdict on a case's image on a host. Raises CaseError for a field that cannot be read.

    With `lenient`, such a field counts as not given, and a note says so, as long as something to run is left.
    """
    if not host.is_covered:
        return Decision(Verdict.UNKNOWN, (NOT_COVERED,))
    images = read_images(case, host.may_be[0].wheels_for, lenient=lenient)
    if images.problems:
        raise CaseError(list(images.problems))
    possible = [
        Possibility(image, exact, *solve(image, exact))
        for image in images.values
        for pool in host.may_be
        for exact in _exact(image, pool)
    ]
    if any(image.taken_by_driver for image in images.values):
        possible = _best_on_each(possible)
    chosen, findings, verdict = _together(possible, (*host.open, *images.open))
    verdict, findings = _with_notes(verdict, findings, (*host.notes, *images.notes))
    return Decision(verdict, findings, chosen, _as_read(case, images.passed_over), images.values)


def _best_on_each(possible: list[Possibility]) -> list[Possibility]:
    """For each possible host, the newest build that runs there, if a project publishes one for each CUDA."""
    best: dict[tuple[int, DriverVersion | None], Possibility] = {}
    for each in possible:
        key = id(each.pool.gpu), each.pool.driver
        if key not in best or each.verdict.rank <= best[key].verdict.rank:
            best[key] = each
    return list(best.values())


def _as_read(case: Case, passed_over: tuple[str, ...]) -> Case:
    """Without unreadable fields, so that a remedy does not start from them; targets stay unread, not absent."""
    return case.with_changes(Change(name, "", "") for name in passed_over if name not in {"sm_list", "ptx", "build"})


def _with_notes(verdict: Verdict, findings: Findings, notes: Findings) -> tuple[Verdict, Findings]:
    """Reading the case may leave something open, or limit the answer."""
    if not notes:
        return verdict, findings
    findings = worst_first((*findings, *notes))
    if any(each.severity is Severity.REFUSE for each in notes):
        verdict = Verdict.INCOMPATIBLE
    if verdict.runs and findings[0].severity is Severity.UNKNOWN:
        verdict = Verdict.UNKNOWN
    elif verdict is Verdict.COMPATIBLE and any(each.severity is Severity.WARN for each in notes):
        verdict = Verdict.WITH_WARNING
    return verdict, findings


def _together(possible: list[Possibility], axes: tuple[OpenField, ...]) -> tuple[Possibility, Findings, Verdict]:
    """If all agree, or there is only one, open fields do not matter; else `unknown`, and what would settle it."""
    running = [each for each in possible if each.verdict.runs]
    refused = [each for each in possible if each.verdict is Verdict.INCOMPATIBLE]
    if len(running) == len(possible):
        chosen = max(running, key=lambda each: each.verdict is Verdict.WITH_WARNING)
        about = _on_any_driver(running, axes)
        return chosen, worst_first((*chosen.findings, *about)) if about else chosen.findings, chosen.verdict
    if len(refused) == len(possible):
        chosen = _least_bad(refused)
        return chosen, _shared(refused, chosen.findings), chosen.verdict
    against = refused or [each for each in possible if not each.verdict.runs]
    if not running:
        unsure = next(each for each in possible if each.verdict is Verdict.UNKNOWN)
        return unsure, unsure.findings, unsure.verdict
    turn = _turning_point(axes, against, running)
    decisive = [each for each in against[-1].findings if each.severity in {Severity.REFUSE, Severity.UNKNOWN}]
    open_ = tuple(replace(each, severity=Severity.UNKNOWN, message=f"{turn}: {each.message}") for each in decisive[:3])
    return against[-1], open_, Verdict.UNKNOWN


def _on_any_driver(running: list[Possibility], axes: tuple[OpenField, ...]) -> Findings:
    """The drivers for which the answer holds, if the case names none."""
    drivers = [each.pool.driver for each in running if each.pool.driver is not None]
    if not drivers or not any(axis.field == "driver" for axis in axes):
        return ()
    gpu, last = running[0].pool.gpu, last_driver(running[0].pool.gpu)
    message = f"no driver is stated: it runs on every driver for {gpu.name}, from {min(drivers)} "
    return (note(drop.ID, message + ("on" if last is None else f"to branch {last}"), gpu.fact),)


def _least_bad(refused: list[Possibility]) -> Possibility:
    """The possibility with the fewest refusals, then the fewest unknowns, then the newest driver."""

    def badness(each: Possibility) -> tuple[int, int, int]:
        severities = [finding.severity for finding in each.findings]
        newest = -(each.pool.driver.branch if each.pool.driver else 0)
        return severities.count(Severity.REFUSE), severities.count(Severity.UNKNOWN), newest

    return min(refused, key=badness)


def _shared(refused: list[Possibility], findings: Findings) -> Findings:
    """Refusals shared by all possibilities; if there are none, all of the chosen one's."""
    rules = [{each.rule for each in one.findings if each.severity is Severity.REFUSE} for one in refused]
    common = set.intersection(*rules)
    kept = tuple(each for each in findings if each.severity is not Severity.REFUSE or each.rule in common)
    return kept if common else findings


def _turning_point(axes: tuple[OpenField, ...], against: list[Possibility], running: list[Possibility]) -> str:
    """What is missing, and the first driver that would do."""
    missing = " and ".join(axis.missing for axis in axes)
    if "gpu-commons" not in missing:
        tools = dict.fromkeys("probe" if axis.field in _OF_HOST else "inspect --deep" for axis in axes)
        missing = f"{missing}, which {' and '.join(f'gpu-commons {tool}' for tool in tools)} can tell"
    good = sorted({each.pool.driver for each in running if each.pool.driver is not None})
    bad = {each.pool.driver for each in against if each.pool.driver is not None}
    if len(axes) == 1 and axes[0].field == "driver" and good:
        # A driver stands for all up to the next one that changes an answer, or to the GPU's last branch.
        last = last_driver(running[-1].pool.gpu)
        until = " and newer" if last is None else f" to branch {last}"
        if any(each > good[-1] for each in bad):
            until = f" to branch {good[-1].branch}"
        return f"it depends on {missing} (runs on {good[0]}{until})"
    return f"it depends on {missing}"


def _exact(image: ImageFacts, pool: PoolFacts) -> tuple[PoolFacts, ...]:
    """A pool without a stated driver, with one driver for each range with the same answer.

    Each driver supports the GPU and is a late release of its branch: a machine on which nothing would run is out of
    the question.
    """
    if pool.driver is not None:
        return (pool,)
    turning = turning_drivers(image, pool)
    first, last = min(first_drivers(pool.gpu), default=turning[0]), last_driver(pool.gpu)
    if pool.gpu.drivers is not None:
        # A driver that lists the board, not only its chip: the owner has installed one.
        first = max(first, min(pool.gpu.drivers.first))
    since = pool.gpu.supported_from
    if since is not None and pool.gpu.drivers is None and since.branch > first.branch:
        first = since
    # A later release of its first branch, as people install them; the driver keeps the number from the tables.
    first = max(first, replace(DriverVersion.end_of(first.branch), shown=str(first)))
    able = [first, *(each for each in turning if each > first and (last is None or each <= last))]
    return tuple(replace(pool, driver=driver) for driver in able)
