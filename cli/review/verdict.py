"""The verdict on a preview: a sign that says whether anybody must act, and a headline. Nothing unproved looks green."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Final

from cli.engine_events import STACK, Stream
from cli.engine_values import elided, grouped, names_of, without_secrets
from cli.review.cells import Cell
from cli.review.consequences import Consequence, seats_text
from cli.review.details import Change, Detail, last_key
from cli.review.findings import PACK, Finding, Level, statements
from cli.words import counted

_MOST_REASONS: Final = 6
_TERM: Final = "P-TERM"  # advises if courses want more GPUs at the busiest time than there are
_MOST_CLAUSES: Final = 2
_MOST_RULES: Final = 3
_LONGEST: Final = 60  # characters of a value
_OF_GPUS: Final = {"gpu", "gpus", "gpus_per_node", "gpu_memory_gb", "guaranteed_gpus", "borrowable_gpus"}
_DECIDED: Final = ("course", "site", "policies", "hub")  # changes that people decide; they come before their results


class Outcome(StrEnum):
    """How a preview ended, best first."""

    UNCHANGED = "unchanged"
    FINE = "fine"
    UNDECIDED = "undecided"  # something could not be proved yet
    REFUSED = "refused"
    FAILED = "failed"  # the preview itself
    NOT_PROVED = "not proved"  # no policy looked
    UNREADABLE = "unreadable"  # the events end too early, or there are none

    @property
    def exit_code(self) -> int:
        # The update decides whatever a preview cannot know before it changes any dependent: no reason to stop.
        if self in {Outcome.UNCHANGED, Outcome.FINE, Outcome.UNDECIDED}:
            return 0
        return 2 if self is Outcome.UNREADABLE else 1


class Sign(StrEnum):
    """What a reader must do, by severity."""

    NOTHING_TO_DO = "nothing to do"
    ATTENTION = "attention"  # people have to act, or a promise is not covered
    STOPPED = "stopped"  # refused, or the preview failed
    NO_PROOF = "no proof"


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome in a few words, and the sentences that explain it."""

    outcome: Outcome
    headline: str
    reasons: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()  # as the program and the engine wrote them


@dataclass(frozen=True, slots=True)
class Impact:
    """Everything that goes into a headline."""

    changes: tuple[Change, ...]
    consequences: tuple[Consequence, ...]
    findings: tuple[Finding, ...]
    broken: tuple[Cell, ...]


def verdict_of(stream: Stream, impact: Impact) -> Verdict:
    """Judge a readable stream. The worst reason comes first."""
    if not stream.is_whole:
        return Verdict(Outcome.UNREADABLE, "no verdict", (_cut_short(stream),))
    refused, unproved = statements(each for each in impact.findings if each.is_refusal), _unproved(stream)
    if stream.result != "succeeded" and (not refused or not stream.resources):
        return _failed(stream)
    if refused or impact.broken:
        verb = "refuses" if refused == 1 else "refuse"
        lines = [f"{counted(refused, 'finding')} {verb} this change."] if refused else []
        for image, pools in islice(grouped((cell.image, cell.pool) for cell in impact.broken).items(), _MOST_REASONS):
            lines.append(f"{image} will not run on {names_of(pools)}, where this stack starts it.")
        return Verdict(Outcome.REFUSED, _refused(impact), (*lines, *unproved))
    if unproved:
        return Verdict(Outcome.NOT_PROVED, "NOT PROVED", unproved)
    outcome = Outcome.FINE if any(stream.changed) else Outcome.UNCHANGED
    outcome = Outcome.UNDECIDED if any(map(_is_open, impact.findings)) else outcome
    reason = (
        f"Nothing is refused, but {counted(_open(impact), 'finding')} could not be decided in a preview. "
        "The update decides each before it touches what depends on it."
    )
    return Verdict(outcome, "; ".join(_clauses(outcome, impact)), (reason,) if _open(impact) else ())


def _is_open(finding: Finding) -> bool:
    """Findings that the base branch also leaves open do not count against this change."""
    return finding.level is Level.UNDECIDED and finding.is_of_this_change


def _open(impact: Impact) -> int:
    """Undecided findings, except those that every build leaves open until it is done."""
    return statements(each for each in impact.findings if _is_open(each) and not each.is_routine)


def _cut_short(stream: Stream) -> str:
    so = "so nothing here counts as proved"
    if stream.damaged:
        events = f"{counted(stream.damaged, 'event')} of the stream cannot be read"
        return f"{events}: it is damaged or cut short, {so}. Run the preview again."
    if stream.is_corrupt:
        return f"The engine says that its summary may be incomplete, {so}."
    ends = "The event stream ends before the preview's summary: the preview was killed or is still running"
    return f"{ends}, {so}. Run it again."


def _unproved(stream: Stream) -> tuple[str, ...]:
    """Why a success would prove nothing."""
    if PACK in stream.packs and stream.looked_at:
        return ()
    if stream.packs:
        loaded = ", ".join(sorted(stream.packs))
        return (f"The policy pack {PACK} did not run (only {loaded} did): nothing checked that images run.",)
    if any(stream.changed) and all(step.op == "delete" for step in stream.changed if step.type != STACK):
        return ("Policies do not check what is removed: whether anybody still needs it is for you to judge.",)
    return ("No policy pack looked at anything: nothing was proved. Set PULUMI_OPTION_POLICY_PACK and preview again.",)


def _failed(stream: Stream) -> Verdict:
    reason = "The preview failed before any resource: nothing was compared and nothing was proved."
    if stream.resources:
        reason = "The preview failed: what follows is only what the engine saw before that, and proves nothing."
    # Without those that only follow from another one.
    messages = (without_secrets(each.message) for each in stream.diagnostics if each.severity == "error")
    errors = tuple(dict.fromkeys(message for message in messages if "context canceled" not in message))
    no_errors = ("The engine gave no reason; see the log of the preview.",)
    return Verdict(Outcome.FAILED, "the preview failed", (reason,), errors or no_errors)


# --- sign and headline


def sign_of(outcome: Outcome, impact: Impact) -> Sign:
    """Green only if nobody has to act and every promise is covered."""
    if outcome in {Outcome.REFUSED, Outcome.FAILED}:
        return Sign.STOPPED
    if outcome in {Outcome.NOT_PROVED, Outcome.UNREADABLE}:
        return Sign.NO_PROOF
    acts = any(each.to_do for each in impact.consequences)
    return Sign.ATTENTION if acts or _is_uncovered(impact) or _open(impact) else Sign.NOTHING_TO_DO


def _clauses(outcome: Outcome, impact: Impact) -> Iterator[str]:
    """The impact in one sentence."""
    nothing = ["nothing changes" if outcome is Outcome.UNCHANGED else "nothing that people will notice"]
    yield from islice(dict.fromkeys(_impacts(impact) or nothing), _MOST_CLAUSES)
    if _is_uncovered(impact):
        yield "courses may want more GPUs than there are"
    if number := _open(impact):
        yield f"{counted(number, 'finding')} could not be decided"


def _is_uncovered(impact: Impact) -> bool:
    """Promises that this change leaves without GPUs, except those that the base branch leaves too."""
    advice = (each for each in impact.findings if each.rule == _TERM and each.level is Level.ADVICE)
    return any(each.is_of_this_change for each in advice)


def _refused(impact: Impact) -> str:
    refused = [each for each in impact.findings if each.is_refusal]
    if refused:
        rules = list(dict.fromkeys(each.rule for each in refused))[:_MOST_RULES]
        about = list(dict.fromkeys(each.about for each in refused))
        text = f"refused by {names_of(rules)}: {about[0]}{f' and {len(about) - 1:,} more' if len(about) > 1 else ''}"
    else:
        images = list(dict.fromkeys(cell.image for cell in impact.broken))
        text = f"{names_of(images)} will not run where this stack starts {'it' if len(images) == 1 else 'them'}"
    heavy = [each.short for each in impact.consequences if each.short and each.is_heavy]
    seats = max((each.affected.seats for each in impact.changes), default=0)
    return f"{text}; {heavy[0]}" if heavy else f"{text}{seats_text(seats)}"


def _impacts(impact: Impact) -> Sequence[str]:
    """Only the heaviest; without one, people's decisions, then their results."""
    told = [each for each in impact.consequences if each.short]
    heavy = [each.short for each in told if each.is_heavy]
    pending, light = (
        [each.short for each in told if not each.is_heavy and each.to_do is to_do] for to_do in (True, False)
    )
    if impact.changes and all(each.op == "create" for each in impact.changes):
        return [_all_new(impact.changes), *pending]
    if found := heavy or [*pending, *_decisions(impact.changes), *light]:
        return found
    if len(impact.changes) > _MOST_CLAUSES:
        return [f"{counted(len(impact.changes), 'thing')} change"]
    return [_clause(each) for each in impact.changes]


def _all_new(changes: Sequence[Change]) -> str:
    """`new: 2 courses, 3 pools, hub datahub (300 seats)`."""
    kinds = grouped((each.kind, each.name) for each in changes)
    parts = [f"{kind} {names[0]}" if len(names) == 1 else counted(len(names), kind) for kind, names in kinds.items()]
    seats = sum(each.affected.seats for each in changes if each.kind == "course")
    return f"new: {', '.join(parts)}{seats_text(seats)}"


def _decisions(changes: Sequence[Change]) -> Iterator[str]:
    """Changes of promises and limits, one clause for each kind."""
    for kind in _DECIDED:
        decided = [each for each in changes if each.kind == kind and _first(each) is not None]
        if len(decided) == 1:
            yield _clause(decided[0])
        elif decided:
            seats = sum(each.affected.seats for each in decided) if kind == "course" else 0
            yield f"{counted(len(decided), kind)} change{seats_text(seats)}"


def _clause(change: Change) -> str:
    """`Deep learning: guaranteed GPUs 48 → 24 (120 seats)`."""
    titles, seats = change.affected.courses, seats_text(change.affected.seats)
    name = titles[0] if change.kind == "course" and titles else f"{change.kind} {change.name}"
    if change.op in {"create", "delete"}:
        return f"{name} {'is new' if change.op == 'create' else 'is removed'}{seats}"
    detail = _first(change)
    if detail is None:
        return f"{name} changes{seats}"
    rest = f" and {len(change.details) - 1} more" if len(change.details) > 1 else ""
    if detail.before and detail.after and not detail.is_list:
        seats = "" if last_key(detail.loc) == "seats" else seats  # already in the clause
        return (
            f"{name}: {detail.label} {elided(detail.before, _LONGEST)} → {elided(detail.after, _LONGEST)}{rest}{seats}"
        )
    marked = ", ".join(f"{mark} {word}" for mark, word in (("−", detail.before), ("+", detail.after)) if word)  # noqa: RUF001
    return f"{name}: {detail.label} {elided(marked, _LONGEST)}{rest}{seats}"


def _first(change: Change) -> Detail | None:
    """The heaviest detail: a promise before days and names, or the creation or removal itself."""
    if change.op in {"create", "delete"}:
        return change.details[0] if change.details else Detail("", "", "")
    named = [each for each in change.details if each.label]
    return next((each for each in named if last_key(each.loc) in _OF_GPUS), named[0] if named else None)
