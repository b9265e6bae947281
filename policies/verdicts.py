"""Verdicts of the compatibility engine for images on pools, and finding lines shared by pools. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Final

from compat import Answer, Case, Finding, Severity, Verdict, check_on
from compat.rules import ALL_RULES
from compat.values.fact import Fact
from errors.problems import listing
from fleet.courses import Usage
from fleet.pools import PoolGpus
from imaging.inspection.conclusions import judge
from imaging.inspection.facts import ImageContents
from imaging.spec.compat_cases import Use
from policies.report import line

_MOST: Final = 8  # listed names


@dataclass(frozen=True, slots=True)
class Outcome:
    """One answer: for one GPU use of an image, on one pool."""

    where: str
    pool: str
    answer: Answer


@lru_cache(256)
def uses_read(contents: ImageContents) -> tuple[Use, ...]:
    """GPU uses found by inspecting the image, in a spec's form."""
    return tuple(Use(program.name, None, Case(**program.fields)) for program in judge(contents).programs)


def outcomes(uses: Iterable[Use], pools: Iterable[str], gpus: Mapping[str, PoolGpus]) -> tuple[Outcome, ...]:
    """Every use on every pool whose GPUs are known."""
    known = [pool for pool in pools if pool in gpus]
    return tuple(Outcome(use.where, pool, _answer(use.case, gpus[pool])) for use in uses for pool in known)


@lru_cache(4096)  # every workload of an image needs its answer
def _answer(image: Case, gpus: PoolGpus) -> Answer:
    if gpus.host is not None:
        return check_on(image, gpus.host)
    return Answer("", Verdict.UNKNOWN, (Finding("R-GFD", Severity.UNKNOWN, gpus.unread, Fact("", "", "")),))


def whole_pool(nodes: str, gpus: Mapping[str, PoolGpus]) -> str:
    """The pool of alike nodes: a profile names nothing smaller."""
    return gpus[nodes].pool or nodes


def cited(source: str) -> str:
    """A row's first source and the number of others: `gpu-commons facts` prints all."""
    first, *more = source.split(" ; ")
    return f"{first} and {len(more)} more" if more else first


def messages_of(outcome: Outcome, severity: Severity) -> list[str]:
    return [finding.message for finding in outcome.answer.findings if finding.severity is severity]


def reasons(
    bad: Sequence[Outcome], severity: Severity, pools: Sequence[str], gpus: Mapping[str, PoolGpus]
) -> Iterator[str]:
    """Each reason once, with its image parts and pools."""
    by_reason: dict[tuple[str, str], list[tuple[Outcome, Finding]]] = {}
    for outcome in bad:
        for finding in outcome.answer.findings:
            if finding.severity is severity:
                by_reason.setdefault((finding.rule, finding.message), []).append((outcome, finding))
    everywhere = in_order(each.where for each in bad)
    for (rule, message), held in by_reason.items():
        parts = in_order(outcome.where for outcome, _ in held if outcome.where)
        where = f", in {listing(parts, most=_MOST)}" if parts else ""
        some = in_order(outcome.pool for outcome, _ in held)
        on = f", on {listing(some, most=_MOST)}" if len(some) < len(pools) else ""
        fact = held[0][1].fact
        source = cited(fact.source)
        yield line("why", f"{message} [{rule}{where if len(everywhere) > 1 or parts else ''}{on}]")
        if fact.text and source:
            yield line("fact", f"{fact.text} ({', '.join(part for part in (source, fact.date) if part)})")
        if guessed := _guessed(rule, some, gpus):
            yield line("assumed", f"the stack file marks the {guessed} of these pools as assumed")


@cache
def _read_by(rule: str) -> frozenset[str]:
    return frozenset(field for each in ALL_RULES if each.id == rule for field in each.text.of_pool)


def _guessed(rule: str, pools: Sequence[str], gpus: Mapping[str, PoolGpus]) -> str:
    fields = {field for pool in pools for field in gpus[pool].assumed} & _read_by(rule)
    return ", ".join(sorted(fields))


def pools_with_drivers(pools: Sequence[str], gpus: Mapping[str, PoolGpus]) -> str:
    drivers = in_order(host.shown.driver if (host := gpus[pool].host) else "" for pool in pools)
    names = ", ".join(drivers)
    is_in_parts = any(whole_pool(name, gpus) != name for name in pools)  # these names end in brackets: gtx1080ti (n07)
    driver = "" if not all(drivers) else f", driver {names}" if is_in_parts else f" (driver {names})"
    return f"{'pool' if len(pools) == 1 else 'pools'} {listing(pools, most=_MOST)}{driver}"


def affected(usages: Sequence[Usage], pools: AbstractSet[str]) -> str:
    """Profiles by hub, jobs, courses: `profiles a, b of hub h; job j; courses C (120 seats)`."""
    hit = [usage for usage in usages if pools & set(usage.pools)]
    groups: dict[tuple[str, str], list[str]] = {}
    for usage in hit:
        groups.setdefault((usage.kind, usage.hub), []).append(usage.name)
    parts = [
        f"{kind if len(names) == 1 else f'{kind}s'} {listing(names, most=_MOST)}{f' of hub {hub}' if hub else ''}"
        for (kind, hub), names in groups.items()
    ]
    chosen = dict.fromkeys(course for usage in hit for course in usage.courses)
    if courses := [f"{each.title} ({each.seats} {'seat' if each.seats == 1 else 'seats'})" for each in chosen]:
        parts.append(f"{'course' if len(courses) == 1 else 'courses'} {listing(courses, most=_MOST)}")
    return "; ".join(parts)


def remedy(bad: Sequence[Outcome], fine: Sequence[str]) -> str:
    """What to change, by image part; by pool too if these differ."""
    ways: dict[str, dict[str, list[str]]] = {}  # part → change → pools
    for outcome in bad:
        if outcome.answer.remedy is not None:
            ways.setdefault(outcome.where, {}).setdefault(outcome.answer.remedy.text, []).append(outcome.pool)
    texts = []
    for where, by_text in ways.items():
        for text, pools in by_text.items():
            part, on = where if len(ways) > 1 else "", listing(in_order(pools), most=_MOST)
            held_for = part if len(by_text) == 1 else f"{part}, on {on}" if part else f"On {on}"
            texts.append(f"{held_for}: {text}" if held_for else text)
    if fine:
        texts.append(f"Or restrict it to {'pool' if len(fine) == 1 else 'pools'} {listing(fine, most=_MOST)}.")
    return " ".join(texts)


def in_order(names: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(names))
