"""The first line of a comment: the impact in one sentence, after a sign that says whether anybody must act."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from cli.review.affected import Affected
from cli.review.cells import Cell
from cli.review.consequence import Consequence
from cli.review.details import Change, Detail
from cli.review.findings import Finding, Level, Since
from cli.review.values import elided, names_of
from cli.review.verdict import Outcome, Verdict, statements
from cli.words import counted

_TERM: Final = "P-TERM"  # advises if courses want more GPUs at the busiest time than there are
_MOST_CLAUSES: Final = 2
_MOST_RULES: Final = 3
_LONGEST: Final = 60  # characters of a value
_OF_GPUS: Final = {"gpu", "gpus", "gpus_per_node", "gpu_memory_gb", "guaranteed_gpus", "borrowable_gpus"}


class Sign(StrEnum):
    """What a reader must do, by severity."""

    NOTHING_TO_DO = "nothing to do"
    ATTENTION = "attention"  # people have to act, or a promise is not covered
    STOPPED = "stopped"  # refused, or the preview failed
    NO_PROOF = "no proof"


@dataclass(frozen=True, slots=True)
class Impact:
    """Everything that goes into a headline."""

    changes: Sequence[tuple[Change, Affected]] = ()
    consequences: Sequence[Consequence] = ()
    findings: Sequence[Finding] = ()
    broken: Sequence[Cell] = ()


def sign_of(outcome: Outcome, impact: Impact) -> Sign:
    """Green only if nobody has to act and every promise is covered."""
    if outcome in {Outcome.REFUSED, Outcome.FAILED}:
        return Sign.STOPPED
    if outcome in {Outcome.NOT_PROVED, Outcome.UNREADABLE}:
        return Sign.NO_PROOF
    acts = any(each.to_do for each in impact.consequences)
    return Sign.ATTENTION if acts or _uncovered(impact) or _open(impact) else Sign.NOTHING_TO_DO


def headline_of(verdict: Verdict, impact: Impact) -> str:
    """The impact in one sentence; the verdict's own words if nothing was compared."""
    if verdict.outcome is Outcome.REFUSED:
        heavy = [each.short for each in impact.consequences if each.short and each.is_heavy]
        seats = max((who.seats for _, who in impact.changes), default=0)
        return _joined([_refused(impact), *heavy[:1]]) if heavy else f"{_refused(impact)}{_seats(seats)}"
    if verdict.outcome not in {Outcome.FINE, Outcome.UNDECIDED, Outcome.UNCHANGED}:
        return verdict.headline
    clauses = list(_clauses(impact, _MOST_CLAUSES))
    if not clauses:
        clauses = ["nothing changes" if verdict.outcome is Outcome.UNCHANGED else "nothing that people will notice"]
    if _uncovered(impact):
        clauses.append("courses may want more GPUs than there are")
    if open_ := _open(impact):
        clauses.append(f"{counted(open_, 'finding')} could not be decided")
    return _joined(clauses)


def _joined(clauses: Sequence[str]) -> str:
    return "; ".join(filter(None, clauses))


def _uncovered(impact: Impact) -> bool:
    """Promises that this change leaves without GPUs, except those that the base branch leaves too."""
    return any(
        each.rule == _TERM and each.level is Level.ADVICE and each.since not in {Since.STANDING, Since.RESOLVED}
        for each in impact.findings
    )


def _open(impact: Impact) -> int:
    """Undecided findings, except those that every build leaves open until it is done."""
    return statements(
        each
        for each in impact.findings
        if each.level is Level.UNDECIDED and not each.is_routine and each.since not in {Since.STANDING, Since.RESOLVED}
    )


def _refused(impact: Impact) -> str:
    refused = [each for each in impact.findings if each.level is Level.REFUSED and each.since is not Since.RESOLVED]
    if not refused:
        images = list(dict.fromkeys(cell.image for cell in impact.broken))
        return f"{names_of(images)} will not run where this stack starts {'it' if len(images) == 1 else 'them'}"
    rules = list(dict.fromkeys(each.rule for each in refused))[:_MOST_RULES]
    about = list(dict.fromkeys(each.about for each in refused))
    return f"refused by {names_of(rules)}: {about[0]}" + (f" and {len(about) - 1:,} more" if len(about) > 1 else "")


def _clauses(impact: Impact, most: int) -> Iterator[str]:
    """Only the heaviest; without one, people's decisions, then their results."""
    heavy = [each.short for each in impact.consequences if each.short and each.is_heavy]
    pending = [each.short for each in impact.consequences if each.short and each.to_do and not each.is_heavy]
    light = [each.short for each in impact.consequences if each.short and not each.to_do and not each.is_heavy]
    if impact.changes and all(change.op == "create" for change, _ in impact.changes):
        every = [_all_new(impact.changes), *pending]
    else:
        every = heavy or [*pending, *_decisions(impact.changes), *light] or list(_others(impact.changes))
    yield from islice(dict.fromkeys(every), most)


def _all_new(changes: Sequence[tuple[Change, Affected]]) -> str:
    """`new: 2 courses, 3 pools, hub datahub (300 seats)`."""
    kinds: dict[str, list[str]] = {}
    for change, _ in changes:
        kinds.setdefault(change.kind, []).append(change.name)
    parts = [f"{kind} {names[0]}" if len(names) == 1 else counted(len(names), kind) for kind, names in kinds.items()]
    seats = sum(who.seats for change, who in changes if change.kind == "course")
    return f"new: {', '.join(parts)}" + _seats(seats)


# Changes that people decide; they come before their results.
_DECIDED: Final = ("course", "site", "policies", "hub")


def _decisions(changes: Sequence[tuple[Change, Affected]]) -> Iterator[str]:
    """Changes of promises and limits, one clause for each kind."""
    for kind in _DECIDED:
        decided = [(change, who) for change, who in changes if change.kind == kind and _first(change) is not None]
        if len(decided) == 1:
            yield _clause(*decided[0])
        elif decided:
            seats = sum(who.seats for _, who in decided) if kind == "course" else 0
            yield f"{counted(len(decided), kind)} change{_seats(seats)}"


def _others(changes: Sequence[tuple[Change, Affected]]) -> Iterator[str]:
    if len(changes) > _MOST_CLAUSES:
        yield f"{counted(len(changes), 'thing')} change"
        return
    yield from (_clause(change, who) for change, who in changes)


def _clause(change: Change, who: Affected) -> str:
    """`Deep learning: guaranteed GPUs 48 → 24 (120 seats)`."""
    name = who.courses[0] if change.kind == "course" and who.courses else f"{change.kind} {change.name}"
    seats = _seats(who.seats)
    if change.op in {"create", "delete"}:
        return f"{name} {'is new' if change.op == 'create' else 'is removed'}{seats}"
    detail = _first(change)
    if detail is None:
        return f"{name} changes{seats}"
    more = len(change.details) - 1
    rest = f" and {more} more" if more > 0 else ""
    if detail.before and detail.after and not detail.is_list:
        if detail.key == "seats":
            seats = ""  # already in the clause
        was, now = (elided(word, _LONGEST) for word in (detail.before, detail.after))
        return f"{name}: {detail.label} {was} → {now}{rest}{seats}"
    gone, come = (f"{mark} {word}" if word else "" for mark, word in (("−", detail.before), ("+", detail.after)))  # noqa: RUF001
    return f"{name}: {detail.label} {elided(', '.join(filter(None, (gone, come))), _LONGEST)}{rest}{seats}"


def _first(change: Change) -> Detail | None:
    """The heaviest detail: a promise before days and names, or the creation or removal itself."""
    if change.op in {"create", "delete"}:
        return change.details[0] if change.details else Detail("", "", "")
    named = [each for each in change.details if each.label]
    return next((each for each in named if each.key in _OF_GPUS), named[0] if named else None)


def _seats(number: int) -> str:
    return f" ({counted(number, 'seat')})" if number else ""
